package io.xskip.scan;

import io.xskip.common.Failures;
import io.xskip.common.SkippingSettings;
import io.xskip.connection.HookState;
import io.xskip.listing.IndexedFileIndex;
import io.xskip.location.IndexLocation;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.FileFacts;
import io.xskip.snapshot.PruningAnswer;
import io.xskip.tasks.RangedFiles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * Lists the files of one scan without those that the indexes rule out. After an error the scan
 * reads all files of the listing, unless the session is in strict mode.
 */
public final class ScanPruner {
  private final ScanContext context;
  private final FileIndex index;
  private final ListingFilters filters;

  /** What the answers have to state of each file beside "skip", or null. */
  private final FactsQuestion question;

  /**
   * The listing, without the files that the answers so far rule out. Null before the first answer
   * if the index applies that answer while it lists.
   */
  private Seq<PartitionDirectory> listing = null;

  private final List<ScanRecord> records = new ArrayList<>();
  private boolean hasAnswer = false;
  private boolean hasRanges = false;
  private boolean isPruned = false;
  private boolean isRecorded = false;

  /**
   * Whether the indexes were asked for an explanation, or before it was known that a query runs.
   */
  private final boolean isExplained = Explanation.current() != null;

  /** Why a query in strict mode fails, or null. */
  private String refusal = null;

  /** The latest answer, or null. */
  private PruningAnswer answer = null;

  private ScanPruner(
      ScanContext context, FileIndex index, ListingFilters filters, FactsQuestion question) {
    this.context = context;
    this.index = index;
    this.filters = filters;
    this.question = question;
  }

  /** Returns whether the indexes can rule out files of a scan with filters. */
  static boolean canPrune(ScanContext context, ListingFilters filters) {
    boolean hasConditions = !filters.dataFilters.isEmpty() || !context.conditions().isEmpty();
    return hasConditions && HookState.isActive();
  }

  /** Lists the files of an index that a scan reads, and records what the indexes rule out. */
  static ScanPruner list(
      ScanContext context, FileIndex index, ListingFilters filters, FileSelection selection) {
    ScanPruner pruner =
        plan(context, index, filters, selection == null ? null : selection.question());
    pruner.record(selection, false);
    return pruner;
  }

  /**
   * Lists the files of an index that a scan reads, for a query that may not run.
   *
   * @param question what {@link #takeFacts} has to know, or null
   */
  static ScanPruner plan(
      ScanContext context, FileIndex index, ListingFilters filters, FactsQuestion question) {
    ScanPruner pruner = new ScanPruner(context, index, filters, question);
    boolean hasQuestion = question != null && HookState.isActive();
    if (hasQuestion || canPrune(context, filters)) {
      pruner.prune();
    } else {
      pruner.listing = pruner.allFiles();
    }
    return pruner;
  }

  /**
   * Returns the records of the listing that a scan would make. They are not those of its latest
   * listing, and nothing counts them.
   */
  static List<ScanRecord> preview(ScanContext context, FileIndex index, ListingFilters filters) {
    if (filters.dataFilters.isEmpty() && context.conditions().isEmpty()) {
      return Collections.<ScanRecord>emptyList();
    }
    if (!HookState.isActive()) {
      return null;
    }
    ScanPruner pruner = plan(context, index, filters, null);
    pruner.log();
    return pruner.records;
  }

  /**
   * Returns what the indexes say of the files of the listing, or null if they say nothing. The
   * pruner forgets the facts, which can be large.
   */
  FileFacts takeFacts() {
    FileFacts facts =
        answer == null ? null : answer.facts(listing, context.profile().partitionSchema());
    answer = null;
    return facts;
  }

  /**
   * Records the listing, the first time that a query reads its files.
   *
   * @param selection the files that suffice, or null for all
   * @param isOfListing whether they were chosen from this very listing
   */
  void record(FileSelection selection, boolean isOfListing) {
    if (isRecorded) {
      return;
    }
    isRecorded = true;
    boolean isSelected = select(selection, isOfListing);
    // a rewrite has asked of a scan without filters, and selected nothing: no index was of use
    if (!isPruned || (!isSelected && !canPrune(context, filters))) {
      context.setLatest(Collections.<ScanRecord>emptyList());
      recordQuestions();
      return;
    }
    for (int i = 0; i < records.size(); i++) { // the query was not known when it was planned
      records.set(i, ((ScanRecord) records.get(i)).ofPresentQuery());
    }
    log();
    if ((isExplained || question != null) && Explanation.current() == null) {
      ScanLog.addUsed(records);
    }
    publish();
  }

  /** Keeps the requests whose answers decide nothing: they tell which indexes would. */
  private void recordQuestions() {
    for (ScanRecord record : records) {
      context.addQuestion(record);
    }
    if (Explanation.current() == null && context.markCounted()) {
      ScanLog.addUsed(records);
    }
  }

  /** Reads only the files of a selection, and returns whether it leaves out others. */
  private boolean select(FileSelection selection, boolean isOfListing) {
    Seq<PartitionDirectory> selected = null;
    if (selection != null) {
      selected = isOfListing ? selection.directories() : selection.in(listing);
    }
    if (selected == null) {
      return false;
    }
    boolean isWhole = selection.isWhole() && count(listing) == selection.count();
    listing = selected;
    hasRanges |= selection.hasRanges();
    if (isWhole) {
      return false;
    }
    if (records.size() == 1) {
      records.set(0, ((ScanRecord) records.get(0)).selecting(selection));
    }
    return true;
  }

  private static int count(Seq<PartitionDirectory> directories) {
    int count = 0;
    for (PartitionDirectory directory : Scala.list(directories)) {
      count += directory.files().length();
    }
    return count;
  }

  private void log() {
    for (ScanRecord record : records) {
      ScanLog.add(record);
    }
  }

  /** Makes the records of a scan's latest listing known where Spark shows queries. */
  private void publish() {
    context.setLatest(records);
    if (Explanation.current() != null) {
      return;
    }
    context.markCounted();
    try {
      for (ScanRecord record : records) {
        record.addToCounters();
      }
      context.metrics().publish(records);
    } catch (Throwable t) {
      Failures.logDebug("the publication of a listing", t);
    }
  }

  private void prune() {
    isPruned = true;
    if (!(index instanceof IndexedFileIndex)) {
      listing = allFiles();
    }
    try {
      applyAnswers();
    } catch (Throwable t) {
      Failures.logFailure("pruning", t);
      if (context.settings().strict) {
        refusal = String.valueOf(t);
      }
    }
    if (listing == null) {
      listing = allFiles();
    }
  }

  private Seq<PartitionDirectory> allFiles() {
    return SparkCompat.listFiles(index, filters.partitionFilters, filters.dataFilters);
  }

  /** Returns the pruned listing, or throws the refusal of a query in strict mode. */
  Seq<PartitionDirectory> result() {
    SkippingSettings settings = context.settings();
    if (settings.strict && refusal != null) {
      throw new IllegalArgumentException("xskip (strict): " + refusal); // PySpark shows its message
    }
    return hasAnswer && settings.evaluate ? noFiles() : listing;
  }

  /** Returns whether the scan reads only ranges of some files. */
  boolean hasRanges() {
    return hasRanges;
  }

  /** Returns the sum of the sizes of the files that are left, also if the scan only counts them. */
  long sizeInBytes() {
    long size = 0;
    for (PartitionDirectory directory : Scala.list(listing)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        size += RangedFiles.bytes(file);
      }
    }
    return size;
  }

  /** Asks each index. An answer rules out files of its own dataset only: any order is sound. */
  private void applyAnswers() throws Throwable {
    for (IndexLocation location : context.locations()) {
      applyAnswer(location);
      if (refusal != null) {
        return;
      }
    }
  }

  private void applyAnswer(IndexLocation location) throws Throwable {
    TimedAnswer response = new TimedAnswer(location, context, filters.dataFilters, question, "");
    refusal = response.refusal();
    if (refusal != null) {
      return;
    }
    answer = response.pruning();
    if (listing == null) {
      Seq<PartitionDirectory> left =
          ((IndexedFileIndex) index)
              .listFiles(filters.partitionFilters, filters.dataFilters, answer);
      listing = answer.withRanges(left, context.profile().partitionSchema());
    } else {
      listing = answer.filter(listing, context.profile().partitionSchema());
    }
    hasAnswer |= response.isPresent();
    hasRanges |= answer.hasRanges();
    records.add(response.record(answer, response.isPresent() && context.settings().evaluate));
  }

  private static Seq<PartitionDirectory> noFiles() {
    return new VectorBuilder<PartitionDirectory>().result();
  }
}
