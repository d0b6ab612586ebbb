"""What the page of [SL] says."""

WORDS = ""
NEEDED_WORDS = RATIO_WORDS = CURVES_WORDS = ZIPF_WORDS = ""
