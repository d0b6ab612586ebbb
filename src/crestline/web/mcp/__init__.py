"""Tools for agents (Model Context Protocol): each is a request of the API, over stdio or at `/mcp`."""
