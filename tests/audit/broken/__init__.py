"""Mechanisms that break their promise, one small module each: what the auditor must catch."""
