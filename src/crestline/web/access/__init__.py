"""Access: who asks (tokens, sessions, rate limits), and what they may see."""
