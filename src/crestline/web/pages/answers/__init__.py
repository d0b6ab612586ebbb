"""An answer: its page, its files, and how to ask the same from a program."""
