"""Who may ask the service: the key that signs tokens, tokens, and when they end."""
