"""Attack a mechanism, crestline's own or of another author, and report what was found."""
