"""Results of the operations on an index, and their display as text, HTML, JSON and pandas DataFrames.

Entry points: the dataclasses of :mod:`~xskip.results.operations`. This package imports ``metadata`` and the layers
below it.
"""
