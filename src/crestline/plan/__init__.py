"""Planner: what each mechanism would return for a question, before it is asked. It reads no private data."""
