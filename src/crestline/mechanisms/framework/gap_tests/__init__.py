"""Tests of the framework: an item is named only if its count clearly exceeds the first count left out."""
