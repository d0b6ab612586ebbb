"""What `auto` gives on real users and items: leaders, shares of the true top k, and items for the same charge."""
