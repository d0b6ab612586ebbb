"""Tools for those who work on crestline; no part of the package."""
