"""Ops that work with the other trainers of a job."""
