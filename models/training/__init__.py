"""Training: settings, the Lightning module and its trainer, pretraining, logs, presets.

May import every other folder of `ckai.models`.
"""
