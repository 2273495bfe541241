package io.xskip.write;

import java.io.Serializable;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.util.JavaUtils;

/** The limits of Spark on the results of tasks, of which statistics take a part. */
final class ResultLimits implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int PART = 4;

  private final long ofBuffer; // in bytes, of the results of a task
  private final long ofJob; // of the results of all tasks

  ResultLimits(SparkConf conf) {
    ofBuffer = JavaUtils.byteStringAsBytes(conf.get("spark.kryoserializer.buffer.max", "64m"));
    long all = JavaUtils.byteStringAsBytes(conf.get("spark.driver.maxResultSize", "1g"));
    ofJob = all <= 0 ? Long.MAX_VALUE : all; // 0 for no limit
  }

  /** Returns the most bytes of the statistics of the running task. */
  long bytesOfTask() {
    int tasks = Math.max(1, TaskContext.get().numPartitions());
    return Math.min(ofBuffer, ofJob / tasks) / PART;
  }
}
