"""Speed, measured as ratios: `python -m benchmarks` for the field, one script each for single questions."""
