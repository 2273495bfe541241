package io.xskip.questdb;

import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/** Closes the files that queries hold when the queries end. */
final class ExecutionFiles extends SparkListener {
  private static final int MAX_EXECUTIONS = 16;
  private static final Map<Long, List<OpenFiles>> BY_EXECUTION = new LinkedHashMap<>();
  private static SparkContext context = null;

  private ExecutionFiles() {}

  /** Holds files until an execution ends. */
  static synchronized void add(long execution, OpenFiles files) {
    SparkContext present = SparkCompat.context();
    if (present != context) {
      closeAll();
      present.addSparkListener(new ExecutionFiles());
      context = present;
    }
    Long key = Long.valueOf(execution);
    if (!BY_EXECUTION.containsKey(key)) {
      BY_EXECUTION.put(key, new ArrayList<OpenFiles>());
    }
    ((List<OpenFiles>) BY_EXECUTION.get(key)).add(files);
    if (BY_EXECUTION.size() > MAX_EXECUTIONS) { // the end of some was not reported
      close(((Long) BY_EXECUTION.keySet().iterator().next()).longValue());
    }
  }

  private static synchronized void close(long execution) {
    List<OpenFiles> files = (List<OpenFiles>) BY_EXECUTION.remove(Long.valueOf(execution));
    for (int i = 0; files != null && i < files.size(); i++) {
      ((OpenFiles) files.get(i)).close();
    }
  }

  private static void closeAll() {
    for (Long execution : new ArrayList<Long>(BY_EXECUTION.keySet())) {
      close(execution.longValue());
    }
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionEnd) {
      close(((SparkListenerSQLExecutionEnd) event).executionId());
    }
  }
}
