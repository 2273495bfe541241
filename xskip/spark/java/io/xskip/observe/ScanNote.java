package io.xskip.observe;

import io.xskip.scan.Explanation;
import io.xskip.scan.FileSelection;
import io.xskip.scan.ScanContext;
import io.xskip.scan.ScanRecord;
import java.util.List;
import java.util.Locale;

/** The note on an indexed relation in the text of a plan. */
final class ScanNote {
  private static final String UNKNOWN = "xskip: files are selected when the query runs";

  private ScanNote() {}

  /**
   * Returns what skipping does in a scan: in its latest listing, or in one that is made now.
   *
   * @param selection the files that suffice for the query, or null for all
   */
  static String text(ScanContext context, FileSelection selection) {
    if (selection != null && selection.isWhole()) {
      return text(context, null);
    }
    List<ScanRecord> records = context.latest();
    if (records == null && !Explanation.isExecuting()) {
      records = context.preview();
    }
    if (records == null) {
      return UNKNOWN;
    }
    if (records.isEmpty() && selection == null) {
      return "xskip: no filter reaches this scan";
    }
    long indexes = 0;
    for (ScanRecord scan : records) {
      indexes += scan.indexes();
    }
    return "xskip: "
        + of(kept(records, selection), listed(records, selection), "file")
        + ", "
        + number(indexes, "index", "indexes")
        + (selection == null ? "" : ", " + selection.reason());
  }

  private static long kept(List<ScanRecord> records, FileSelection selection) {
    boolean isRead = !records.isEmpty() && ((ScanRecord) records.get(0)).hasRewrite();
    return selection == null || isRead
        ? ((ScanRecord) records.get(records.size() - 1)).kept()
        : selection.count();
  }

  private static long listed(List<ScanRecord> records, FileSelection selection) {
    return records.isEmpty() ? selection.listed() : ((ScanRecord) records.get(0)).listed();
  }

  private static String of(long part, long whole, String unit) {
    return String.format(Locale.ROOT, "%,d of ", part) + number(whole, unit, unit + "s");
  }

  private static String number(long number, String one, String many) {
    return String.format(Locale.ROOT, "%,d ", number) + (number == 1 ? one : many);
  }
}
