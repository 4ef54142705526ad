"""fluidio."""
