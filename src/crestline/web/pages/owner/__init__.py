"""The pages of the owner: what is served, to whom, and the tokens."""
