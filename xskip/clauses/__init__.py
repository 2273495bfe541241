"""Clauses: what is asked of a metadata table, and answers true, null or false for each file.

Ways in: :class:`~xskip.clauses.clause.Clause`, and for index types :mod:`~xskip.clauses.index_clause` and
:mod:`~xskip.clauses.bounds`. Imports ``metadata`` and what lies below.
"""

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause, Mask
from xskip.clauses.index_clause import Lists, PartsClause, ValuesClause

__all__ = ["Bounds", "IndexClause", "Lists", "Mask", "PartsClause", "ValuesClause", "possible"]
