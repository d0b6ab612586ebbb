"""Stage 3: histogram in, selection out. One mechanism, one module; none of them samples noise on its own."""
