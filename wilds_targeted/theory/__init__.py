"""The paper's linear regression setting (section 4 and appendix C), as something to compute with.

Nothing here knows WILDS or torch: `setting` draws data, `estimators` has what is learned from infinitely many examples
of finitely many domains and how well it does, and `bounds` has the four theorems.
"""
