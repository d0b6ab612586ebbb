"""Mechanisms that see only the k_bar largest counts, and stop at a noisy threshold for the items they do not see."""
