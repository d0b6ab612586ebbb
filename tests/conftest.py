"""Fixtures and settings that several parts of the tree share."""

from hypothesis import settings

pytest_plugins = ["tests.servers"]

# The same examples on every run, and no clock: a test that passed yesterday on a busy machine passes today.
settings.register_profile("crestline", deadline=None, derandomize=True)
settings.load_profile("crestline")
