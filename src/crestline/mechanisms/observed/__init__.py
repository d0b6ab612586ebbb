"""Mechanisms that compare every observed item with a threshold (P17), and the sieve, which finds heavy buckets first
(P18)."""
