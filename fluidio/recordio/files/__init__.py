"""Whole files: opening, indexing, ranges, surveys, repair, batches."""
