"""One module for each paper: its experiments, its page, and the contests for the summary."""
