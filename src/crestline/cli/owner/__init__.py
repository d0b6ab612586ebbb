"""Commands of the owner of the data and the budget."""
