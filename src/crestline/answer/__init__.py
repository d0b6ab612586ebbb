"""Stage 6: the answer and how it is displayed."""
