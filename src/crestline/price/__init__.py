"""Prices: what questions will cost, before they are asked. Nothing is asked and no row is read."""
