"""`wilds-targeted report`: tables, figures and a page of finished runs.

`gathering` makes methods of runs, `paper` finds the rows of the paper's tables that they repeat, `comparison`, `fits`
and `answers` compare them, `breakdown`, `tables` and `curves` show them, `write` puts all of it into a folder.
"""
