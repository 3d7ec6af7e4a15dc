"""First steps: guided questions, a demonstration, example files, compilation ahead of time."""
