"""Division of a total (ε, δ) between choosing items and testing them."""
