"""The messages between the hook in Spark's driver and Python: requests, answers, and records of scans.

The Java twins are in ``io.xskip.protocol`` and ``io.xskip.scan``. Rules: specs/jvm-protocol.rst.
"""
