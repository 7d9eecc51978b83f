"""Bundles for WILDS's leaderboard: its rules, the checks of finished runs, their scores, and the files to upload."""
