"""Stage 6: what is said back."""
