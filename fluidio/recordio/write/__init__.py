"""Records, samples and columns become chunks in a file."""
