"""Stand-in for the empty file of the same name in WILDS."""
