"""Stage 5: what has been promised so far, in books that survive anything."""
