"""The bridge between Python and Spark's JVM, which compiles the Java hook, calls the hook and receives its callbacks.

Entry points: :func:`~xskip.spark.bridge.gateway.hook_of` and :mod:`~xskip.spark.bridge.hadoop_filesystem`. Only this
package imports py4j.
"""
