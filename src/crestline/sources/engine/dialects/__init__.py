"""What engines differ in: one module an engine, and in it one record."""
