package io.xskip.rewrite;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;

/** The sizes of sides of joins that Spark is likely to broadcast. */
final class BroadcastSizes {
  private final SQLConf conf;

  BroadcastSizes(SQLConf conf) {
    this.conf = conf;
  }

  /** Returns whether Spark is likely to broadcast a side of a join. */
  boolean contain(LogicalPlan side) {
    long most = conf.autoBroadcastJoinThreshold();
    return most > 0 && !side.isStreaming() && side.stats().sizeInBytes().longValue() <= most;
  }
}
