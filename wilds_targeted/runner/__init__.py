"""The built-in runner: `run_expt.py`'s flags, files and numbers where there is no WILDS checkout.

`flags` parses, `defaults` fills in, `data` makes splits and loaders, `loop` trains and evaluates, `outputs` and `logs`
write what WILDS writes, `state` saves and restores everything that a run needs to go on, and `run` ties them together.
"""
