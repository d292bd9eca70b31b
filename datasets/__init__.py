"""Rows: the Parquet schema, writers and readers, what is in a data set, batches for training.

Owns everything between games and tensors. Knows nothing of networks or search.
"""

POSITIONS = ("all", "distinct", "average")
"""What of repeated positions is kept, see `ckai.datasets.merge`; here, so that help needs no numpy."""
