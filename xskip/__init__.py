"""Data skipping for PySpark.

An index beside the data stores statistics of each data file. Queries then read only the files that can hold a matching
row. The queries themselves stay unchanged.

>>> import xskip
>>> xskip.MinMax("ts")
MinMax(column='ts', key_label=None)
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from xskip.release import VERSION

if TYPE_CHECKING:
    from xskip.api.catalog import list_indexes, migrate_all
    from xskip.api.cluster import cluster
    from xskip.api.configuration import settings
    from xskip.api.doctor import doctor
    from xskip.api.index import SkippingIndex
    from xskip.api.overview import overview
    from xskip.api.queries import Watch, explain, last_report, report, savings, watch
    from xskip.api.session import (
        configure,
        declare_classes,
        disable,
        enable,
        is_enabled,
        register_function,
        use_kms,
    )
    from xskip.api.write import write
    from xskip.errors import XskipError
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
    from xskip.standalone.opened import open_index

__version__ = VERSION

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
    "Watch",
    "XskipError",
    "__version__",
    "cluster",
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
    "open_index",
    "overview",
    "register",
    "register_function",
    "report",
    "savings",
    "settings",
    "use_kms",
    "watch",
    "write",
]

#: The public names of each module. A module is imported when one of its names is used first.
_NAMES = {
    "xskip.api.catalog": ("list_indexes", "migrate_all"),
    "xskip.api.cluster": ("cluster",),
    "xskip.api.configuration": ("settings",),
    "xskip.api.doctor": ("doctor",),
    "xskip.api.index": ("SkippingIndex",),
    "xskip.api.overview": ("overview",),
    "xskip.api.queries": ("Watch", "explain", "last_report", "report", "savings", "watch"),
    "xskip.api.session": (
        "configure", "declare_classes", "disable", "enable", "is_enabled", "register_function", "use_kms",
    ),
    "xskip.api.write": ("write",),
    "xskip.errors": ("XskipError",),
    "xskip.indexes": (
        "BloomFilter", "Formatted", "GapList", "GeoBox", "Hybrid", "Index", "MinMax", "NullCount", "OneColumn",
        "PathBounds", "Prefix", "TokenBloom", "ValueList", "register",
    ),
    "xskip.metadatastore.kms": ("KmsClient", "LocalKms"),
    "xskip.results.skipping_report": ("SkippingReport",),
    "xskip.standalone.opened": ("open_index",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


class _Package(ModuleType):
    """The package, in which a public name is never hidden by a module of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; ignore a module that an import binds to a public name."""
        if not (name in _MODULE_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name, or a module of the package, at its first use."""
        if name in _MODULE_OF:
            value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        elif name.startswith("__") or importlib.util.find_spec(f"xskip.{name}") is None:
            raise AttributeError(f"module 'xskip' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        else:
            value = importlib.import_module(f"xskip.{name}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
