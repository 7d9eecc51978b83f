"""Augmentations: pure image, audio and label code, one idea per module.

Nothing here knows WILDS; the plugins put the pieces together.
"""
