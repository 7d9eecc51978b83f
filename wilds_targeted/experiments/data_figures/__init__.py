"""The paper's appendix A figures, drawn from any copy of a data set: samples, colours and labels by domain.

Nothing here loads more than it draws: labels and domains come from the metadata, and pictures are read one by one.
"""
