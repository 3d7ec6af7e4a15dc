"""All compiled code: arrays in, arrays out, no exceptions, no random state of its own."""
