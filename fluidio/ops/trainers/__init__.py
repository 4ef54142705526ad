"""Ops that communicate with the other trainers of a job."""
