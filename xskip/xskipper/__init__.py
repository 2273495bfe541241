"""Xskipper's Python API on top of xskip.

Programs that use Xskipper's Python API run on xskip if they import these names instead:

>>> from xskip.xskipper import Registration, Xskipper
"""

from xskip.xskipper.indexbuilder import IndexBuilder
from xskip.xskipper.registration import Registration
from xskip.xskipper.xskipper import Xskipper, XskipperException

__all__ = ["IndexBuilder", "Registration", "Xskipper", "XskipperException"]
