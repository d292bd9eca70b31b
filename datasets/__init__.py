"""Rows: the Parquet schema, writers and readers, what is in a data set, batches for training.

Owns everything between games and tensors. Knows nothing of networks or search.
"""
