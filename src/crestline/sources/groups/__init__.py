"""Questions with groups: the top of every group from an engine, as tables of histograms."""
