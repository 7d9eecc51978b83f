"""``python -m birdcalls_dataset …``."""

from birdcalls_dataset.cli import main

main()
