"""Stage 5: what has been promised so far, in a record that survives anything."""
