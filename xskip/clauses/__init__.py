"""Clauses: conditions on a metadata table that evaluate to true, false or null for each file.

Entry points: :class:`~xskip.clauses.clause.Clause`, and for authors of index types :mod:`~xskip.clauses.index_clause`
and :mod:`~xskip.clauses.bounds`. This package imports ``metadata`` and the layers below it.
"""

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause, Mask
from xskip.clauses.index_clause import Lists, PartsClause, ValuesClause

__all__ = ["Bounds", "IndexClause", "Lists", "Mask", "PartsClause", "ValuesClause", "possible"]
