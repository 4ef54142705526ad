"""Convolution, pooling, resizing, regions and detectors."""
