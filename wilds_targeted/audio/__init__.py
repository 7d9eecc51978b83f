"""Sound as pictures: mel spectrograms, their colours and axes, and clips read from disk. Knows nothing of WILDS."""
