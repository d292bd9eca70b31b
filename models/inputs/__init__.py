"""What a network sees: encodings that turn rows into planes, and the tactics some of them add.

Imports nothing else of `ckai.models`.
"""
