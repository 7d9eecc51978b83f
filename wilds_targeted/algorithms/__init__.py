"""What trains: ERM and the invariance baselines, on the protocol of WILDS's training loop.

One class serves a WILDS checkout and the built-in runner alike. The order of operations is that of WILDS's own
algorithms wherever a number depends on it, so that the same seed gives the same predictions.
"""
