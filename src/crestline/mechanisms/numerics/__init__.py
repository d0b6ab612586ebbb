"""Numerical routines that several mechanisms use: integrals, order laws, tails, thresholds and sensitivities."""
