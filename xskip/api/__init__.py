"""The API that users call; ``xskip`` exports its public names.

Entry points: :class:`~xskip.api.index.SkippingIndex` and the functions of :mod:`~xskip.api.session`. This package
imports ``indexing`` and the layers below it.
"""
