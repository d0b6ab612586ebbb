"""A question as an Ibis expression, and the reading of it in one snapshot."""
