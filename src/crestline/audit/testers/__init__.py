"""Testers: exact, statistical, and what they look at."""
