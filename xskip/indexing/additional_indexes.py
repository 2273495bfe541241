"""Extensions: further indexes on a dataset that has an index, also in place of others, in one commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from xskip.errors import IndexExistsError
from xskip.hints import Phrase, Words
from xskip.indexes import Index
from xskip.indexing.build_plan import plan
from xskip.indexing.definition_build import DefinitionBuild, with_footer_key
from xskip.indexing.source import check_keys, open_source, require_collected
from xskip.indexing.update import Update
from xskip.results.operations import RefreshResult

__all__ = ["Extension"]


@dataclass(frozen=True, slots=True)
class Extension(Update):
    """An extension of one index by further indexes."""

    def run(self, indexes: Sequence[Index], removed: Collection[str] = (), operation: str = "add") -> RefreshResult:
        """Add indexes, and repeat the attempt if another writer committed first.

        ``removed`` are the texts of indexes without a key to leave out; those that the dataset lacks do not count.
        """
        return self.repeat(partial(self._attempt, indexes, frozenset(removed), operation))

    def _attempt(self, indexes: Sequence[Index], removed: frozenset[str], operation: str) -> RefreshResult:
        source = open_source(self.spark, self.engine, self.reader)
        snapshot = require_collected(source)
        build = self.build_on(source, snapshot, DefinitionBuild)
        added = plan(source, indexes)
        present = {definition.key for definition, _ in snapshot.indexes}
        for each in added:
            if each.definition.key in present:
                raise IndexExistsError(
                    "the dataset already has this index", where=source.directory, found=str(each.definition),
                    hint=Words(
                        "to change its parameters, {} first", Phrase("remove() the index", "run xskip remove")
                    ),
                )  # fmt: skip
        left_out = frozenset(d.key for d, _ in snapshot.indexes if str(d) in removed)
        stay = [each for each in build.planned if each.definition.key not in left_out]
        planned, write_options = (*stay, *added), with_footer_key(build, added)
        if any(each.definition.key_label for each in added):
            check_keys(write_options, added)
        changed = replace(build, planned=planned, write_options=write_options, added=added, removed=left_out)
        return replace(changed, operation=operation).run(snapshot)
