"""Requests: asked once for each key, in their turn, and not again soon after they took too long."""
