"""How the framework divides a total (ε, δ) between choosing items and testing them."""
