"""A function that returns the clause of an index for a leaf."""

from __future__ import annotations

from xskip.clauses.clause import IndexClause


def translated(clause: IndexClause | None) -> IndexClause:
    """Return the clause, after a check that the index answers the leaf."""
    assert clause is not None
    return clause
