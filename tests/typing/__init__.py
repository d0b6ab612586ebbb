"""Public usage that must type-check, one module per part of the package."""
