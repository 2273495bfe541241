"""What operations on an index return, and how results are shown as text, HTML, JSON and pandas.

Ways in: the dataclasses of :mod:`~xskip.results.operations`. Imports ``metadata`` and what lies below.
"""
