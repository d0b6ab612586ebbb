"""Errors in the papers that the mechanisms come from, each shown by a computation that takes seconds at most."""
