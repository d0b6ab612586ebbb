"""Mechanisms made of others: a set that is put in order, and noisy queries that choose which mechanism answers."""
