package io.xskip.observe;

import io.xskip.scan.Explanation;
import io.xskip.scan.ScanContext;
import io.xskip.scan.ScanRecord;
import java.util.List;
import java.util.Locale;

/** The note on an indexed relation in the text of a plan. */
final class ScanNote {
  private static final String UNKNOWN = "xskip: files are selected when the query runs";

  private ScanNote() {}

  /** Returns what skipping does in a scan: in its latest listing, or in one that is made now. */
  static String text(ScanContext context) {
    List<ScanRecord> records = context.latest();
    if (records == null && !Explanation.isExecuting()) {
      records = context.preview();
    }
    if (records == null) {
      return UNKNOWN;
    }
    if (records.isEmpty()) {
      return "xskip: no filter reaches this scan";
    }
    long kept = ((ScanRecord) records.get(records.size() - 1)).kept();
    long listed = ((ScanRecord) records.get(0)).listed();
    long indexes = 0;
    for (ScanRecord scan : records) {
      indexes += scan.indexes();
    }
    return "xskip: " + of(kept, listed, "file") + ", " + number(indexes, "index", "indexes");
  }

  private static String of(long part, long whole, String unit) {
    return String.format(Locale.ROOT, "%,d of ", part) + number(whole, unit, unit + "s");
  }

  private static String number(long number, String one, String many) {
    return String.format(Locale.ROOT, "%,d ", number) + (number == 1 ? one : many);
  }
}
