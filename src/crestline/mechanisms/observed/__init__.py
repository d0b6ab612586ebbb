"""Thresholds over all observed items (P17), and the sieve that finds where the mass is before it applies one (P18)."""
