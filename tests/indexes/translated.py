"""The clause that an index makes of a leaf."""

from __future__ import annotations

from xskip.clauses.clause import IndexClause


def translated(clause: IndexClause | None) -> IndexClause:
    """The clause itself: the index answers."""
    assert clause is not None
    return clause
