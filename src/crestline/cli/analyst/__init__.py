"""Commands of whoever asks."""
