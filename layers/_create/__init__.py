"""Make, copy and describe tensors."""
