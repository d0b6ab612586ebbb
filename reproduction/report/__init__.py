"""The report for researchers: a template, and the numbers that a command puts into it."""
