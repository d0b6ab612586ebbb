"""Where randomness comes from, and the one engine that compares noisy keys exactly (P11)."""
