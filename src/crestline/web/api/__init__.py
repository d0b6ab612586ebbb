"""The API: routes for programs, with JSON in and out."""
