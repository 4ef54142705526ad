"""Convolution, pooling, resizing, regions and object detection."""
