"""What whole programs are attacked with: rows, filters, tables, and the report."""
