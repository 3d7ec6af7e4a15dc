"""What faces call: a function for each verb, which takes choices and files and returns what is to be shown."""
