package io.xskip.jvm;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.internal.SQLConf;

/** The state of the hook: one per class loader, that is one per JVM. Thread safe. */
class XSkipHub {
  static volatile Function callback = null;              // Python: String request -> byte[] answer, or null
  static volatile String[] confKeys = new String[0], confPrefixes = new String[0];   // of settings that decide values
  static final ConcurrentHashMap snapshots = new ConcurrentHashMap();     // directory of the metadata -> XSkipSnapshot
  static final ConcurrentHashMap processWide = new ConcurrentHashMap();   // settings that a session may not have itself
  static final AtomicLong sequence = new AtomicLong();
  static final ConcurrentHashMap asking = new ConcurrentHashMap();        // request -> its XSkipTerms
  static final ThreadLocal inCallback = new ThreadLocal();                // queries of the callback are not hooked
  static final ThreadLocal purpose = new ThreadLocal();                   // an explain in progress: its name
  private static final int REMEMBERED = 512, CHUNK = 3500;
  private static final ArrayDeque scans = new ArrayDeque();

  /** The settings of this thread's session, or null where nothing is to be done. */
  static XSkipSettings settings() {
    if (callback == null || inCallback.get() != null || XSkipPlans.context() == null) return null;
    SQLConf conf = SQLConf.get();
    if (!"true".equalsIgnoreCase(XSkipSettings.value(conf, "spark.xskip.enabled", "true"))) return null;
    return new XSkipSettings(conf);
  }
  /** file:/a, file:///a and /a are the same; a password in front of a host is left out. */
  static String key(Path p) {
    java.net.URI u = p.toUri();
    String scheme = u.getScheme(), authority = u.getAuthority(), path = u.getPath();
    if (path.length() > 1 && path.endsWith("/")) path = path.substring(0, path.length() - 1);
    boolean local = scheme == null || scheme.equals("file");
    return (local ? "" : scheme + "://" + (authority == null ? "" : authority.replaceFirst("^([^:@]*):[^@]*@", "$1@"))) + path;
  }
  /** A key as a path: one without a scheme is local, whatever the default file system. */
  static Path path(String key) { return new Path(key.startsWith("/") ? "file:" + key : key); }
  /** A path of the user's as a key: without a scheme it is of the default file system. */
  static String location(String path) {
    Path p = new Path(path);
    try { return key(p.getFileSystem(XSkipPlans.hadoopConf()).makeQualified(p)); } catch (Throwable t) { return key(p); }
  }
  static void failed(String where, Throwable t) {
    org.slf4j.LoggerFactory.getLogger("io.xskip").warn("xskip: " + where + " failed; the query reads all files", t);
    if (t instanceof InterruptedException) Thread.currentThread().interrupt();   // Spark's cancellation must see it
  }

  /** Fail open: whatever goes wrong after the real listing, the real listing is the answer. */
  static @SEQ@ prune(XSkipContext c, FileIndex d, @SEQ@ pf, @SEQ@ df) {
    if (callback == null || df.isEmpty() && c.mixed.length() == 0 || XSkipPlans.context() == null) return d.listFiles(pf, df);
    @SEQ@ listing = d instanceof XSkipTrustedIndex ? null : d.listFiles(pf, df);   // null: made with the first answer
    String refused = null;
    boolean answered = false;
    try {
      // each dataset's answer drops only its own files: sound in any order
      for (Iterator it = c.places.iterator(); it.hasNext() && refused == null;) {
        XSkipPlace place = (XSkipPlace) it.next();
        long id = sequence.incrementAndGet(), start = System.nanoTime();
        XSkipTerms terms = new XSkipTerms(c.terms);
        asking.put(new Long(id), terms);
        byte[] answer;
        try { answer = ask(id, XSkipEncoder.request(id, place, c, df, terms)); } finally { asking.remove(new Long(id)); }
        long asked = System.nanoTime();
        if (answer != null && answer.length > 0 && answer[0] == 'E') {
          refused = new String(answer, 1, answer.length - 1, "UTF-8");
          continue;
        }
        XSkipReply reply = XSkipReply.parse(answer, (XSkipSnapshot) snapshots.get(place.directory));
        listing = listing == null ? ((XSkipTrustedIndex) d).listFiles(pf, df, reply) : reply.filter(listing, c.partitions);
        answered |= answer != null;
        remember(new XSkipScan(id, place.root, c.format, reply.counts().all(), asked - start, System.nanoTime() - asked));
      }
    } catch (Throwable t) {
      failed("pruning", t);
      if (c.settings.strict) refused = String.valueOf(t);
    }
    if (listing == null) listing = d.listFiles(pf, df);
    if (refused != null && c.settings.strict) throw new RuntimeException("xskip (strict): " + refused);
    return answered && c.settings.evaluate ? (@SEQ@) (Object) new scala.collection.immutable.VectorBuilder().result() : listing;
  }
  /** py4j's writer has an 8 KB buffer and no TCP_NODELAY: a longer command would wait some 40 ms for a delayed ACK.
      So long requests go in chunks: U+0001, id, last?, text. */
  private static byte[] ask(long id, String request) throws Throwable {
    String[] parts = {request};
    if (request.length() > CHUNK) {
      parts = new String[(request.length() + CHUNK - 1) / CHUNK];
      for (int i = 0; i < parts.length; i++) {
        int from = i * CHUNK, to = Math.min(request.length(), from + CHUNK);
        parts[i] = "\u0001" + id + ":" + (i == parts.length - 1 ? "1" : "0") + ":" + request.substring(from, to);
      }
    }
    return (byte[]) XSkipAnswers.ask(callback, parts);
  }
  private static synchronized void remember(XSkipScan scan) {
    scans.addLast(scan);
    while (scans.size() > REMEMBERED) scans.removeFirst();
  }
  static synchronized String scansAfter(long id) {
    StringBuilder sb = new StringBuilder("[");
    for (Iterator it = scans.iterator(); it.hasNext();) {
      XSkipScan s = (XSkipScan) it.next();
      if (s.id > id) { if (sb.length() > 1) sb.append(','); s.json(sb); }
    }
    return sb.append(']').toString();
  }
}

/** What happened to one listing: counts, and the query that it belongs to. */
class XSkipScan {
  final long id; private final String root, format, query; private final long[] counts; private final long askedNs, filteredNs;
  XSkipScan(long id, String root, String format, long[] counts, long askedNs, long filteredNs) {
    this.id = id; this.root = root; this.format = format; this.counts = counts; this.askedNs = askedNs; this.filteredNs = filteredNs;
    this.query = query();
  }
  private static String query() {
    if (XSkipHub.purpose.get() != null) return (String) XSkipHub.purpose.get();
    try {
      String e = XSkipPlans.context().getLocalProperty("spark.sql.execution.id");
      return e == null ? "" : e;
    } catch (Throwable t) { return ""; }
  }
  void json(StringBuilder sb) {
    sb.append("{\"id\":").append(id).append(",\"root\":"); XSkipEncoder.str(sb, root);
    sb.append(",\"format\":"); XSkipEncoder.str(sb, format);
    sb.append(",\"query\":"); XSkipEncoder.str(sb, query);
    String[] names = {"listed", "listed_bytes", "known", "kept", "kept_bytes"};
    for (int i = 0; i < names.length; i++) sb.append(",\"").append(names[i]).append("\":").append(counts[i]);
    sb.append(",\"asked_ms\":").append(askedNs / 1e6).append(",\"filtered_ms\":").append(filteredNs / 1e6).append('}');
  }
}
