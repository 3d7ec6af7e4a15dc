"""Where results go beyond this package: a face, as the command line is; each module needs its own library."""
