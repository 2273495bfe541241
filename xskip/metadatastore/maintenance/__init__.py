"""Commits that collect nothing: another version, fewer files, other keys, no index.

Ways in: the module of each operation. Imports ``metadatastore``, ``results`` and what lies below.
"""
