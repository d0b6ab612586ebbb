"""What a practitioner would otherwise use, run through those libraries themselves."""
