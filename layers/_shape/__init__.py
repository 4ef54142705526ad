"""Change shapes; pick, cut and join."""
