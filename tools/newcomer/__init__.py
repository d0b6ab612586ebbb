"""A newcomer who types in the pages: every block of every page, from a fresh wheel, in an empty folder."""
