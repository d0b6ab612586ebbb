"""The ledger's tables in a database."""
