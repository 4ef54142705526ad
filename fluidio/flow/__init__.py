"""Move items between threads and processes: channels, queues, the life cycle of a reader, worker processes."""
