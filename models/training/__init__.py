"""Training: settings, the loop, the Lightning module, pretraining runs, logs, the learning-rate finder.

May import every other folder of `ckai.models`.
"""
