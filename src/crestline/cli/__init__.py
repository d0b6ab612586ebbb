"""The command line: an interface to `ask`; it holds no privacy logic."""
