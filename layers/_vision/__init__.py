"""Images and detectors."""
