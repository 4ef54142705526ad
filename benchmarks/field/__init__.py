"""fluidio beside its peers, on the same bytes, in one run."""
