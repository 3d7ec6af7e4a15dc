"""Commands: each parses its options, calls the library and prints."""
