"""The best (ε, δ) of many steps that an adversary may choose one after the other, computed on a grid of losses."""
