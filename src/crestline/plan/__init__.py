"""The planner: what a question would get, from which mechanism, before it is asked. It reads no private data."""
