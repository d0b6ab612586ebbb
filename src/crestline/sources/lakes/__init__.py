"""Tables of lakes (Delta, Iceberg): one snapshot of one table, of which the columns asked for are copied."""
