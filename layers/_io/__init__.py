"""The implementation of the reader layers."""
