"""Stage 2: what a mechanism may see of the data, and nothing else."""
