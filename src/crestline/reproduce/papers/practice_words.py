"""What the page on real users and items says."""

WORDS = TABLE_WORDS = CHOICE_WORDS = ""
