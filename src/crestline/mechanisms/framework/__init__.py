"""The framework: choose slots with any private selection, then name only the chosen items that pass a noisy test."""
