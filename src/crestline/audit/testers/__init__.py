"""The exact and the statistical tester, and the pairs, features and events that they use."""
