"""Charts drawn by hand as SVG, for pages and files, from the tokens that Altair reads, too (`tokens.json`)."""
