"""Begin: questions that end in commands, a demonstration, example files, compiled code made ahead of time."""
