"""Read judgments from any file; the format is found by the name and the columns of the file."""
