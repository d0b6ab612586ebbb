"""How many users the named items reach: a release of two numbers after any selection."""
