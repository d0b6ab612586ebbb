"""Random bits, and exact comparisons of noisy keys (P11)."""
