"""fluidio compared with its peers, on the same bytes, in one run."""
