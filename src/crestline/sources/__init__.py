"""Stage 1: any database to a ranked histogram. The only place that speaks to an engine."""
