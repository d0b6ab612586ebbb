"""The framework: choose slots with any private selection, then name only those chosen items that pass a noisy test."""
