"""Figures of the source that may only become better: `python -m tools.house`, or scripts/house."""
