"""Distinct (user, item) pairs: the expressions of their views, and the views in one snapshot."""
