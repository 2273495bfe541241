"""Operations that commit without collecting statistics: migrate, optimize, rotate keys, drop.

Each operation has a module. This package imports ``metadatastore``, ``results`` and lower layers.
"""
