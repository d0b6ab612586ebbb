"""Stage 2: views of the data, which are all that a mechanism sees."""
