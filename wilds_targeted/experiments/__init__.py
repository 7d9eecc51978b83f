"""Experiments: what to run, the runs, and what to say of their results."""
