"""Commands of the judging page: each parses its options, calls the library and prints."""
