"""Kernels in C where a profile asked for them: optional, with NumPy's results when they could not be built."""
