"""Mechanisms that answer only when no small change of the data could alter the answer."""
