"""The engine behind all readers: records go from chunks to batches as parts that are copied once."""
