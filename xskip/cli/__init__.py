"""The command line and its demonstration on real data.

Entry point: :func:`~xskip.cli.main.main`. This package imports the API that ``xskip`` exports and the layers below it.
"""
