"""Files and globs: their formats, lines and types, brought into order for the embedded engine."""
