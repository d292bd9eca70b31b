"""Networks: what they see, the architectures by name, training, checkpoints, inference.

Owns everything with weights. Knows nothing of search. Importing this page imports no torch: take names from
their modules, `ckai.models.registry`, `.checkpoint`, `.inference`, `.lit`, `.pretrain`, `.metrics`.
"""
