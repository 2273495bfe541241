package io.xskip.scan;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.snapshot.ListedFiles;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The numbers of all pruning requests, and the records of the latest ones. */
public final class ScanLog {
  private static final int CAPACITY = 512;

  /** The most files that all records together know, besides those of the latest record. */
  private static final int MAX_FILES = 1 << 22;

  private static final AtomicLong LAST_ID = new AtomicLong();
  private static final Deque<ScanRecord> RECORDS = new ArrayDeque<>();

  /** The records, as JSON, of requests for plans whose files an execution has read since. */
  private static final Deque<String> USED = new ArrayDeque<>();

  private ScanLog() {}

  /** Returns the number of the next request. */
  static long nextId() {
    return LAST_ID.incrementAndGet();
  }

  /** Returns the number of the latest request. */
  public static long lastId() {
    return LAST_ID.get();
  }

  static void add(ScanRecord scan) {
    synchronized (RECORDS) {
      RECORDS.addLast(scan);
      while (RECORDS.size() > CAPACITY) {
        ((ScanRecord) RECORDS.removeFirst()).forgetFiles();
      }
      forgetFiles();
    }
  }

  /** Forgets the files of the oldest records above the greatest number of files. */
  private static void forgetFiles() {
    long total = 0;
    Iterator<ScanRecord> latestFirst = RECORDS.descendingIterator();
    latestFirst.next();
    while (latestFirst.hasNext()) {
      ScanRecord scan = (ScanRecord) latestFirst.next();
      ListedFiles files = scan.files();
      if (files == null) {
        return; // and so have all older ones
      }
      total += files.count();
      if (total > MAX_FILES) {
        scan.forgetFiles();
      }
    }
  }

  /** Returns the files of a request's listing, or null if they are no longer known. */
  public static ListedFiles files(long id) {
    synchronized (RECORDS) {
      for (ScanRecord scan : RECORDS) {
        if (scan.id() == id) {
          return scan.files();
        }
      }
    }
    return null;
  }

  /** Returns the records of the requests after a request's number as a JSON array, oldest first. */
  public static String after(long id) {
    final List<ScanRecord> later = new ArrayList<>();
    synchronized (RECORDS) {
      for (ScanRecord scan : RECORDS) {
        if (scan.id() > id) {
          later.add(scan);
        }
      }
    }
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (ScanRecord scan : later) {
              scan.writeTo(json);
            }
            json.writeEndArray();
          }
        });
  }

  /** Adds requests for a plan whose files an execution has read since. */
  public static void addUsed(List<ScanRecord> scans) {
    synchronized (USED) {
      for (ScanRecord scan : scans) {
        USED.addLast("[" + scan.id() + "," + scan.keptBytes() + "," + scan.unneeded() + "]");
        if (USED.size() > CAPACITY) {
          USED.removeFirst();
        }
      }
    }
  }

  /**
   * Returns the requests for plans whose files an execution has read since the last call, as a JSON
   * array: for each its number, the bytes of the files that the scan reads, and the number of files
   * that a rewrite has left out.
   */
  public static String takeUsed() {
    synchronized (USED) {
      String numbers = USED.toString();
      USED.clear();
      return numbers;
    }
  }
}
