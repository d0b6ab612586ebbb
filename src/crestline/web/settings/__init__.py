"""The file of the service: TOML, read and checked."""
