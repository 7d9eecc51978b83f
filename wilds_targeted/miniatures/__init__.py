"""Generated data sets in WILDS's on-disk formats: small enough for a laptop, read by WILDS's own classes."""

MINIATURES = ("iwildcam", "camelyon17")
"""The data sets of which there is one."""
