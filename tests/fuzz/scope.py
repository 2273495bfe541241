"""The scope of a filter: the fields of the query and the attributes of the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pyspark.sql.types import StructType

from tests.fuzz.data import FIELDS, INTEGERS, literal

__all__ = ["Field", "Scope", "fields_of"]


@dataclass(frozen=True, slots=True)
class Field:
    """A column or a field of a struct by the query's name, its type for literals, and its values."""

    name: str
    kind: str
    pool: Sequence[str]

    def literal(self, random: Random) -> str:
        """Return a literal for a comparison with the field."""
        return literal(random, self.kind, self.pool)


@dataclass(frozen=True, slots=True)
class Scope:
    """All fields, and the properties of the query that decide which filters Spark accepts.

    Attributes
    ----------
    fields : tuple of Field
    ansi : bool
    hidden : tuple of str
        Tests of the files' hidden columns, which not every source has.
    by_kind : mapping of str to list of Field
    """

    fields: tuple[Field, ...]
    ansi: bool = False
    hidden: tuple[str, ...] = ()
    by_kind: Mapping[str, list[Field]] = field(init=False)

    def __post_init__(self) -> None:
        kinds: dict[str, list[Field]] = {}
        for each in self.fields:
            kinds.setdefault(each.kind, []).append(each)
        object.__setattr__(self, "by_kind", kinds)

    @property
    def integers(self) -> list[Field]:
        """Return the fields whose sums can wrap around."""
        return [each for each in self.fields if each.kind in INTEGERS]

    def literal(self, random: Random, kind: str) -> str:
        """Return a literal of a type, from the values of a field of this type if there is one."""
        fields = self.by_kind.get(kind, [])
        return random.choice(fields).literal(random) if fields else literal(random, kind, ())


def fields_of(schema: StructType, pool: Mapping[str, Sequence[str]], prefix: str = "") -> list[Field]:
    """Return the fields of a schema, with paths for nested fields and without the structs themselves."""
    found: list[Field] = []
    for each in schema.fields:
        name = f"{prefix}{each.name}"
        if isinstance(each.dataType, StructType):
            found += fields_of(each.dataType, pool, f"{name}.")
            continue
        kind = each.dataType.simpleString()
        kind = "decimal(10,2)" if kind.startswith("decimal") else kind
        if kind in FIELDS.values():
            found.append(Field(name, kind, pool.get(name.lower(), ())))
    return found
