"""Ops that replace several others in saved models: fused and quantised ones."""
