"""What an engine is asked, runs and returns, and for how long."""
