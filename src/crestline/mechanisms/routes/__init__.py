"""Mechanisms made of others: a set that is put in order, and a paid look that decides which mechanism answers."""
