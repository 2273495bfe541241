"""Data skipping for PySpark.

An index beside the data stores statistics of each data file. Queries then read only the files that can hold a matching
row. The queries themselves stay unchanged.

>>> import xskip
>>> xskip.MinMax("ts")
MinMax(column='ts', key_label=None)
"""

import sys

from xskip.api.catalog import list_indexes, migrate_all
from xskip.api.configuration import settings
from xskip.api.doctor import doctor
from xskip.api.index import SkippingIndex
from xskip.api.session import (
    configure,
    declare_classes,
    disable,
    enable,
    explain,
    is_enabled,
    last_report,
    register_function,
    use_kms,
)
from xskip.clauses import bounds, index_clause
from xskip.errors import XskipError
from xskip.expressions import operands
from xskip.indexes import (
    BloomFilter,
    Formatted,
    GapList,
    GeoBox,
    Hybrid,
    Index,
    MinMax,
    NullCount,
    OneColumn,
    PathBounds,
    Prefix,
    TokenBloom,
    ValueList,
    register,
)
from xskip.metadatastore.kms import KmsClient, LocalKms
from xskip.results.skipping_report import SkippingReport
from xskip.types import datatypes

# plugins may import these modules by the names that earlier versions of specs/custom-index.rst gave
for _former, _module in {
    "bounds": bounds,
    "datatypes": datatypes,
    "indexes.asking": index_clause,
    "operands": operands,
}.items():
    sys.modules[f"{__name__}.{_former}"] = _module

__version__ = "0.1.0"

__all__ = [
    "BloomFilter",
    "Formatted",
    "GapList",
    "GeoBox",
    "Hybrid",
    "Index",
    "KmsClient",
    "LocalKms",
    "MinMax",
    "NullCount",
    "OneColumn",
    "PathBounds",
    "Prefix",
    "SkippingIndex",
    "SkippingReport",
    "TokenBloom",
    "ValueList",
    "XskipError",
    "__version__",
    "configure",
    "declare_classes",
    "disable",
    "doctor",
    "enable",
    "explain",
    "is_enabled",
    "last_report",
    "list_indexes",
    "migrate_all",
    "register",
    "register_function",
    "settings",
    "use_kms",
]
