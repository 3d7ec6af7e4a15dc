"""All compiled code: arrays in, arrays out, no exceptions, no randomness of its own."""
