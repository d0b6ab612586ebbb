"""Numerical parts that several mechanisms share: integrals, order laws, tails, thresholds and sensitivities."""
