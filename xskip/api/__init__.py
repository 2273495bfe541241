"""What users call. ``xskip`` exports it.

Ways in: :class:`~xskip.api.index.SkippingIndex` and the functions of :mod:`~xskip.api.session`. Imports ``build`` and
what lies below.
"""
