"""Recurring reports: one question for each period, asked once, when the period has ended."""
