"""Mechanisms for items from a public list: every item is known beforehand, so no item needs to be tested."""
