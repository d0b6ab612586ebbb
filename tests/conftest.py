"""Fixtures that several parts of the tree share."""

pytest_plugins = ["tests.servers"]
