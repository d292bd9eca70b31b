"""Training: settings, the Lightning module and its trainer, pretraining, presets.

May import every other folder of `ckai.models`.
"""
