"""Stage 4: the promise as a value, and the theorems that add promises up."""
