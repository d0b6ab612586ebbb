"""The experiments of the papers, run again: the published settings first, ours beside them at the same total (ε, δ)."""
