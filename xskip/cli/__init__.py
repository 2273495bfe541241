"""The command line, and its demonstration on real data.

Ways in: :func:`~xskip.cli.main.main`. Imports what ``xskip`` exports.
"""
