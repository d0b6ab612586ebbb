"""The book: what turns docs/ into a site, and finds the place of every number that code and pages cite."""
