"""Results of the operations on an index, and their display as text, HTML, JSON and pandas DataFrames.

Entry points: the dataclasses of :mod:`~xskip.results.operations`, :mod:`~xskip.results.index_status` and
:mod:`~xskip.results.skipping_report`. This package imports ``pruning`` and the layers below it.
"""
