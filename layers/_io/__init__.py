"""What stands behind reader ops."""
