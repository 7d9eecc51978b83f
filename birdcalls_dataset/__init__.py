"""BirdCalls: the paper's bird-call benchmark as a WILDS data set.

The data set class and the build of its data from the public recordings will live here.
"""
