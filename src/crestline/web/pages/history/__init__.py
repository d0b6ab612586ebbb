"""What was asked and spent so far: the history, and budgets over time."""
