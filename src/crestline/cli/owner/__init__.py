"""Commands of whoever owns the data and the budget."""
