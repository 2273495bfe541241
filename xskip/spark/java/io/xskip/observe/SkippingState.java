package io.xskip.observe;

import io.xskip.common.SkippingSettings;
import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.internal.SQLConf;

/** Whether skipping is on in the session of an execution. */
final class SkippingState {
  private static final String ENABLED = "spark.xskip.enabled";

  private SkippingState() {}

  /** Returns why the queries of an execution's session read all files, or an empty text. */
  static String reasonOff(QueryExecution execution) {
    try {
      SQLConf conf = SparkCompat.conf(execution.sparkSession());
      if (!SkippingSettings.isEnabled(conf)) {
        String value = SkippingSettings.value(conf, ENABLED, "");
        return "skipping is off in this session: " + ENABLED + " is '" + value + "'";
      }
      return hasRule(execution)
          ? ""
          : "skipping is off in this session; call xskip.enable(spark) to switch it on";
    } catch (Throwable t) {
      return "";
    }
  }

  private static boolean hasRule(QueryExecution execution) throws Exception {
    scala.collection.Iterator<?> rules =
        SparkCompat.state(execution.sparkSession())
            .experimentalMethods()
            .extraOptimizations()
            .iterator();
    while (rules.hasNext()) {
      if (((Rule<?>) rules.next()).ruleName().equals("io.xskip.bridge.SkippingRule")) {
        return true;
      }
    }
    return false;
  }
}
