"""Prices of questions, computed before they are asked; no row is read."""
