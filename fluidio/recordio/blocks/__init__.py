"""The engine under all readers: records on their way from chunks to batches, as parts that are copied once."""
