"""The dashboard: pages that are made on the server and need no JavaScript."""
