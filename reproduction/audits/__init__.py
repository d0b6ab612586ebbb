"""Mechanisms of other libraries and papers, dressed for `crestline audit`. Not in the wheel."""
