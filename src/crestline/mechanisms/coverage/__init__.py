"""Coverage: two noisy numbers of users, released after any selection."""
