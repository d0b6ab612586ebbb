"""The command line: one face of ask(); no privacy logic."""
