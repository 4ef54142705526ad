"""The bytes of the file: dialects, chunks, checksums, compressors, tensors."""
