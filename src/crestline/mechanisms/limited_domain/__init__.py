"""Mechanisms that see only the k_bar largest counts and stop where a noisy threshold for the unseen items comes up."""
