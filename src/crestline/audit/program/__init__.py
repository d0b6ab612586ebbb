"""Rows, filters and tables for attacks on whole programs, and the report of such an attack."""
