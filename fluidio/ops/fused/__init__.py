"""Ops that saved models hold in place of several others: fused and quantised ones."""
