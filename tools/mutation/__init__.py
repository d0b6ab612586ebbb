"""Mutation run: change one constant, sign or comparison at a time, and see whether the fast tests notice."""
