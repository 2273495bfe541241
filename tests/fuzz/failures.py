"""A wrong skip, and a program that reproduces it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.plans import Plan
from xskip import PathBounds

__all__ = ["Failure"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was skipped although it holds a matching row.

    Attributes
    ----------
    plan : Plan
    kind : str
        The kind of the copy's indexes.
    where : str
        The filter.
    rows : str
        A query that produces the file's rows.
    indexed : str
        The schema with which the files were indexed.
    asked : str
        The schema of the query; empty if Spark infers the schema.
    seed : int
        The seed of the round.
    way : str
        How the query ran, if the plain query of the script may not reproduce the failure. In this case run the round
        again with the seed.
    path : str
        The path of the file below the dataset.
    of_paths : tuple of PathBounds
        The indexes of bounds that the path contains.
    """

    plan: Plan
    kind: str
    where: str
    rows: str
    indexed: str
    asked: str
    seed: int
    way: str = ""
    path: str = ""
    of_paths: tuple[PathBounds, ...] = ()

    def script(self) -> str:
        """Return a program that reproduces the wrong skip."""
        plan = self.plan
        written = f"write.partitionBy({', '.join(map(repr, plan.partitions))})" if plan.partitions else "write"
        built_as = plan.schema or (self.indexed if "/" in self.path else "")
        indexed = (f", schema={built_as!r}" if built_as else "") + (
            f", options={plan.options!r}" if plan.options else ""
        )
        asked = self.asked or built_as
        reader = f"spark.read.format({plan.fmt!r})" + (f".schema({asked!r})" if asked else "")
        reader += f".options(**{plan.asked_options!r})" if plan.asked_options else ""
        away = [name for name in plan.absent if name not in plan.partitions]
        zone = "spark._jvm.java.util.TimeZone.setDefault(spark._jvm.java.util.TimeZone.getTimeZone({!r}))"
        lines = [
            f"# seed {self.seed}" + (f", {self.way}: this is the plain query" if self.way else ""),
            "from pathlib import Path", "import tempfile", "from pyspark.sql import SparkSession", "import xskip",
            "from xskip import PathBounds", "from tests.fuzz.kinds import indexes", "",
            "spark = xskip.configure(SparkSession.builder.master('local[1]')).getOrCreate()",
            *(f"spark.conf.set({key!r}, {value!r})" for key, value in plan.settings.items()),
            "hadoop = spark.sparkContext._jsc.hadoopConfiguration()",
            *(f"hadoop.set({key!r}, {value!r})" for key, value in plan.hadoop.items()),
            zone.format(plan.zones[0]),
            "root = Path(tempfile.mkdtemp())", "path = str(root / 'data')",
            f"rows = spark.sql({self.rows!r})",
            f"rows.drop('__file', *{away!r}).coalesce(1).{written}.format({plan.fmt!r}).save(str(root / 'staging'))",
            "(part,) = (root / 'staging').rglob('part-*')",
            f"named = root / 'data' / {self.path!r}",
            "named.parent.mkdir(parents=True)", "part.rename(named)",
            f"made = xskip.SkippingIndex.for_path(spark, path, format={plan.fmt!r}{indexed})",
            f"made.create(indexes({self.kind!r}, {plan.absent!r}, {self.of_paths!r}))",
            *(f"spark.conf.set({key!r}, {value!r})" for key, value in plan.asking.items()),
            *(f"hadoop.unset({key!r})" for key in plan.hadoop),
            *(f"hadoop.set({key!r}, {value!r})" for key, value in plan.asked_hadoop.items()),
            zone.format(plan.zones[1]),
            f"found = lambda: {reader}.load(path).filter({self.where!r}).count()",
            "before = found()", "xskip.enable(spark)", "print(before, 'rows without skipping,', found(), 'with')",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"
