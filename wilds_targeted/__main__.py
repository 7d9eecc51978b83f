"""``python -m wilds_targeted …`` is ``wilds-targeted …``."""

from wilds_targeted.cli import main

main()
