"""Tables in memory as Arrow tables that an engine can read."""
