"""What networks are built of: the base class, value and policy heads, shared layers.

May import `ckai.models.inputs`.
"""
