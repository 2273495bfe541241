"""Only expressions of a safe form are analyzed. Rule: [PRU-EX-4]."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from xskip.spark.catalyst.sql_safety import is_plain

PLAIN = (
    "a", "a + 1", "m['k']", "l[0]", "st.x.y", "size(l)", "upper(concat(a, 'x'))", "get_json_object(j, '$.t')",
    "case when a > 1 then 'x' else b end", "transform(l, x -> x + 1)", "exists(l, x -> x > 2)", "cast(a as int)",
    "a rlike 'y'", "a like 'x%'", "a in (1, 2)", "a is null", "extract(year from a)", "a between 1 and 2", "a || 'x'",
    "a * pi()", "datediff(a, to_date('2020-01-01'))", "array_contains(array('x', 'y'), a)", "coalesce(a, -1)",
    "date_add(a, 1 + 1)", "a + interval 1 day", "trim(both 'x' from a)", "position('a' in b)", "substring(a, 1, 3)",
    "repeat(a, 2)", "1 + 1", "a +", "sum(", "",
)  # fmt: skip
NOT_PLAIN = (
    "(select max(a) from parquet.`/etc`)", "a in (select b from c)", "exists(select 1 from parquet.`/etc`)",
    "a + (select 1)", "upper((select 'x'))", "length(repeat('x', 500000000))", "a + length(repeat('x', 500000000))",
    "if(a > 1, length(repeat('x', 5)), 2)", "transform(sequence(1, 100000000), x -> x + a)", "a + rand()",
    "'aaaa' rlike '(a+)+$'", "reflect('java.lang.System', 'exit', a)", "java_method('java.lang.System', 'exit', a)",
    "lpad('x', 99)", "db.mine(a)", "mine(a)", "identifier('a')", "identifier('up' || 'per')(a)", "a\0",
    "(" * 200 + "a" + ")" * 200, "a" + " + a" * 5_000, "space(100000000) || a", "schema_of_json('{}') || a",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_plain(spark: SparkSession, text: str) -> None:
    """[PRU-EX-4] Spark's own functions of columns and small literals are safe."""
    assert is_plain(spark, text)


@pytest.mark.parametrize("text", NOT_PLAIN, ids=lambda text: text[:30])
def test_not_plain(spark: SparkSession, text: str) -> None:
    """[PRU-EX-4] Subqueries, functions without a column, of a catalog or of any class, and huge texts are not safe."""
    spark.udf.register("mine", lambda x: x)
    assert not is_plain(spark, text)
