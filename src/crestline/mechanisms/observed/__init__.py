"""Mechanisms with a threshold over all observed items (P17), and the sieve, which finds heavy buckets first (P18)."""
