"""One timed run: what is executed, under which caches and in which batches, until the figures are steady."""
