"""Measurements of hot paths, each a program: ``python -m benchmarks.NAME``. Ratios in one run, never timed tests."""
