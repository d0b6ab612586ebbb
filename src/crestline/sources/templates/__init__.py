"""Shapes of questions, which share their expressions and statements."""
