"""Guarantees as values, and the theorems that add them up."""
