"""The framework's tests: an item is named only if its count is clearly above the first count left out."""
