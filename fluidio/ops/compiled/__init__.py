"""C kernels where a profile justified them: optional, with the same results as NumPy if they could not be built."""
