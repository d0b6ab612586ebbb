"""Smallest (ε, δ) of many steps that an adversary chooses adaptively, computed on a grid of losses."""
