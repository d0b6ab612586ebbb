"""SQL as a way to write a question: a text is read into a `Question` and is never executed."""
