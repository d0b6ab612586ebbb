"""The pages of recurring reports."""
