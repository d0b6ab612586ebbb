"""Periods of time: which of them a question reads, and whose accounts pay."""
