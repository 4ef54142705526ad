"""Write records, samples and columns as chunks of a file."""
