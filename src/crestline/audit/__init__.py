"""Attack a mechanism, ours or somebody else's, and report what was found."""
