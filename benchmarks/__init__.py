"""Speed measured as ratios: `python -m benchmarks` compares with peers; separate scripts answer specific questions."""
