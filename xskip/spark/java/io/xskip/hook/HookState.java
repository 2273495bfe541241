package io.xskip.hook;

import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.location.IndexLocation;
import io.xskip.snapshot.FileSnapshot;
import io.xskip.snapshot.PruningAnswer;
import io.xskip.snapshot.Snapshots;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.internal.SQLConf;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/** The state of the hook: one per class loader, that is one per JVM. Thread safe. */
public class HookState {
  public static volatile Function callback =
      null; // Python: String request -> byte[] answer, or null
  public static volatile String[] confKeys = new String[0],
      confPrefixes = new String[0]; // of settings that decide values
  public static final AtomicLong sequence = new AtomicLong();
  public static final ConcurrentHashMap asking =
      new ConcurrentHashMap(); // request -> its ExpressionEvaluator
  static final ThreadLocal inCallback = new ThreadLocal(); // queries of the callback are not hooked
  static final ThreadLocal purpose = new ThreadLocal(); // an explain in progress: its name
  private static final int REMEMBERED = 512, CHUNK = 3500;
  private static final ArrayDeque scans = new ArrayDeque();

  /** The settings of this thread's session, or null where nothing is to be done. */
  public static SkippingSettings settings() {
    if (callback == null || inCallback.get() != null || SparkCompat.context() == null) return null;
    SQLConf conf = SQLConf.get();
    if (!"true".equalsIgnoreCase(SkippingSettings.value(conf, "spark.xskip.enabled", "true")))
      return null;
    return new SkippingSettings(conf);
  }

  public static void failed(String where, Throwable t) {
    LoggerFactory.getLogger("io.xskip")
        .warn("xskip: " + where + " failed; the query reads all files", t);
    if (t instanceof InterruptedException)
      Thread.currentThread().interrupt(); // Spark's cancellation must see it
  }

  /** Fail open: whatever goes wrong after the real listing, the real listing is the answer. */
  static Seq prune(ScanContext c, FileIndex d, Seq pf, Seq df) {
    if (callback == null || df.isEmpty() && c.mixed.length() == 0 || SparkCompat.context() == null)
      return d.listFiles(pf, df);
    Seq listing =
        d instanceof IndexedFileIndex
            ? null
            : d.listFiles(pf, df); // null: made with the first answer
    String refused = null;
    boolean answered = false;
    try {
      // each dataset's answer drops only its own files: sound in any order
      for (Iterator it = c.places.iterator(); it.hasNext() && refused == null; ) {
        IndexLocation place = (IndexLocation) it.next();
        long id = sequence.incrementAndGet(), start = System.nanoTime();
        ExpressionEvaluator terms = new ExpressionEvaluator(c.terms);
        asking.put(new Long(id), terms);
        byte[] answer;
        try {
          answer = ask(id, ScanContext.request(id, place, c, df, terms));
        } finally {
          asking.remove(new Long(id));
        }
        long asked = System.nanoTime();
        if (answer != null && answer.length > 0 && answer[0] == 'E') {
          refused = new String(answer, 1, answer.length - 1, "UTF-8");
          continue;
        }
        PruningAnswer reply =
            PruningAnswer.parse(answer, (FileSnapshot) Snapshots.snapshots.get(place.directory));
        listing =
            listing == null
                ? ((IndexedFileIndex) d).listFiles(pf, df, reply)
                : reply.filter(listing, c.partitions);
        answered |= answer != null;
        remember(
            new ScanRecord(
                id,
                place.root,
                c.format,
                reply.counts().all(),
                asked - start,
                System.nanoTime() - asked));
      }
    } catch (Throwable t) {
      failed("pruning", t);
      if (c.settings.strict) refused = String.valueOf(t);
    }
    if (listing == null) listing = d.listFiles(pf, df);
    if (refused != null && c.settings.strict)
      throw new RuntimeException("xskip (strict): " + refused);
    return answered && c.settings.evaluate ? (Seq) (Object) new VectorBuilder().result() : listing;
  }

  /**
   * py4j's writer has an 8 KB buffer and no TCP_NODELAY: a longer command would wait some 40 ms for
   * a delayed ACK. So long requests go in chunks: U+0001, id, last?, text.
   */
  private static byte[] ask(long id, String request) throws Throwable {
    String[] parts = {request};
    if (request.length() > CHUNK) {
      parts = new String[(request.length() + CHUNK - 1) / CHUNK];
      for (int i = 0; i < parts.length; i++) {
        int from = i * CHUNK, to = Math.min(request.length(), from + CHUNK);
        parts[i] =
            "\u0001"
                + id
                + ":"
                + (i == parts.length - 1 ? "1" : "0")
                + ":"
                + request.substring(from, to);
      }
    }
    return (byte[]) PythonAnswers.ask(callback, parts);
  }

  private static synchronized void remember(ScanRecord scan) {
    scans.addLast(scan);
    while (scans.size() > REMEMBERED) scans.removeFirst();
  }

  public static synchronized String scansAfter(long id) {
    StringBuilder sb = new StringBuilder("[");
    for (Iterator it = scans.iterator(); it.hasNext(); ) {
      ScanRecord s = (ScanRecord) it.next();
      if (s.id > id) {
        if (sb.length() > 1) sb.append(',');
        s.json(sb);
      }
    }
    return sb.append(']').toString();
  }
}
