package io.xskip.rewrite;

import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** The strategies by which sessions plan indexed relations. */
final class SessionStrategies {
  /** By its name: javac cannot compile the class. */
  private static final String RANGED_SCANS = "io.xskip.rewrite.RangedScanStrategy";

  private SessionStrategies() {}

  /** Adds the strategy of ranged scans to a session, unless the session has it. */
  static void addRangedScans(Object session) throws Exception {
    ExperimentalMethods methods = SparkCompat.state(session).experimentalMethods();
    synchronized (methods) {
      List<SparkStrategy> strategies = Scala.list(methods.extraStrategies());
      for (SparkStrategy present : strategies) {
        if (present.getClass().getName().equals(RANGED_SCANS)) {
          return;
        }
      }
      ClassLoader loader = SessionStrategies.class.getClassLoader();
      Class<?> added = Class.forName(RANGED_SCANS, true, loader);
      List<SparkStrategy> extended = new ArrayList<>();
      extended.add((SparkStrategy) added.getConstructor().newInstance());
      extended.addAll(strategies);
      methods.extraStrategies_$eq((Seq<SparkStrategy>) Scala.seq(extended));
    }
  }
}
