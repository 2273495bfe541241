package io.xskip.scan;

import io.xskip.common.Failures;
import io.xskip.connection.CallbackExecutor;
import io.xskip.location.IndexLocation;
import io.xskip.snapshot.FileFacts;
import io.xskip.snapshot.FileSnapshot;
import io.xskip.snapshot.Snapshots;
import io.xskip.tasks.RangedFiles;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;

/**
 * The listing of one scan: Spark asks for its size while it plans joins, and for its files when the
 * scan runs. Both come from the same answer of the indexes.
 */
public final class ScanListing implements PlannedRead {
  /** The name of the query in the records of a listing before the query runs. */
  private static final String PLANNING = "planning";

  private static final long UNKNOWN = -1;

  private final ScanContext context;
  private final FileIndex index;
  private final boolean isSized;
  private final long fullSize;
  private final boolean isKept;
  private final FileSelection selection;
  private Listed latest = null;

  /** The listing from which the selection was made, or null. */
  private ScanPruner selected = null;

  /** The latest question of a rewrite, its answer, and how the files were read then. */
  private FactsQuestion question = null;

  private FileFacts facts = null;

  /** Other listings read it without a lock: two that decide about each other would wait. */
  private volatile String factsProfile = null;

  private long size = UNKNOWN;

  /**
   * Creates the listing of a scan, which is empty until Spark asks.
   *
   * @param isSized whether the size is that of the files that are left
   * @param fullSize the size of all files as the catalog has it, or -1 if the index knows it
   * @param isKept whether Spark lists the files more than once, so that the listing is kept
   */
  public ScanListing(
      ScanContext context, FileIndex index, boolean isSized, long fullSize, boolean isKept) {
    this(context, index, isSized, fullSize, isKept, null);
  }

  private ScanListing(
      ScanContext context,
      FileIndex index,
      boolean isSized,
      long fullSize,
      boolean isKept,
      FileSelection selection) {
    this.context = context;
    this.index = index;
    this.isSized = isSized;
    this.fullSize = fullSize;
    this.isKept = isKept;
    this.selection = selection;
  }

  /** Returns a listing with only the files of a selection, as long as they have not changed. */
  public synchronized ScanListing selecting(FileSelection selection) {
    ScanListing selected = new ScanListing(context, index, isSized, fullSize, isKept, selection);
    selected.latest = latest;
    selected.selected = latest == null ? null : latest.files;
    selected.factsProfile = factsProfile;
    return selected;
  }

  /** Returns the files that suffice for the query, or null for all. */
  public FileSelection selection() {
    return selection;
  }

  /** Returns whether another listing has the same selection, or neither has one. */
  public boolean selectsAs(ScanListing other) {
    return Objects.equals(selection, other.selection);
  }

  /**
   * Returns what the indexes say of the files that the query will read, or null if they say
   * nothing.
   *
   * @param question what the rewrite asks
   */
  public synchronized FileFacts facts(FactsQuestion question) {
    if (context.locations().size() != 1) { // some answers would know nothing of other files
      return null;
    }
    if (this.question != null && this.question.isThatOf(question)) {
      return facts; // the optimizer applies the rule until the plan does not change
    }
    boolean isPlanned = beginPlanning();
    try {
      ListingFilters filters = CallbackExecutor.isInCallback() ? null : context.filters();
      String profile = filters == null ? null : profile();
      if (profile == null) {
        return null;
      }
      ScanPruner files = ScanPruner.plan(context, index, filters, question);
      this.question = question;
      facts = files.takeFacts();
      factsProfile = profile;
      // a scan without filters asks no index, so that it must not fail or list as if it had
      boolean isUsed = facts != null || ScanPruner.canPrune(context, filters);
      latest = isUsed ? new Listed(filters, profile, files) : null;
      size = UNKNOWN;
      return facts;
    } finally {
      endPlanning(isPlanned);
    }
  }

  /** A listing, with the filters and the read profile that it depends on. */
  private static final class Listed {
    private final ListingFilters filters;
    private final String profile;
    final ScanPruner files;

    Listed(ListingFilters filters, String profile, ScanPruner files) {
      this.filters = filters;
      this.profile = profile;
      this.files = files;
    }

    boolean isOf(ListingFilters filters, String profile) {
      return this.filters.areThoseOf(filters) && this.profile.equals(profile);
    }
  }

  /** Returns the files that the scan reads. */
  public synchronized Seq<PartitionDirectory> files(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    ListingFilters filters = new ListingFilters(partitionFilters, dataFilters);
    question = null; // the query runs, and no rewrite asks again
    facts = null;
    String profile = latest != null || isKept || selection != null ? profile() : null;
    FileSelection selection = selection(profile);
    if (profile == null) {
      return forScan(ScanPruner.list(context, index, filters, selection));
    }
    if (latest != null && latest.isOf(filters, profile)) {
      latest.files.record(selection, latest.files == selected);
      return forScan(latest.files);
    }
    ScanPruner files = ScanPruner.list(context, index, filters, selection);
    if (isKept) {
      latest = new Listed(filters, profile, files);
    }
    return forScan(files);
  }

  private static Seq<PartitionDirectory> forScan(ScanPruner files) {
    return files.hasRanges() ? RangedFiles.forScan(files.result()) : files.result();
  }

  /**
   * Returns the selection, or null if the files are read in another way than when they were chosen:
   * the chosen files can have fewer matching rows then.
   */
  private FileSelection selection(String profile) {
    boolean isValid =
        selection != null
            && (selection.isFixed() || isAsPlanned(profile))
            && selection.hasPlannedSources();
    return isValid ? selection : null;
  }

  @Override
  public boolean isAsPlanned() {
    return isAsPlanned(profile());
  }

  private boolean isAsPlanned(String profile) {
    return profile != null && profile.equals(factsProfile) && context.readsAllRecords();
  }

  /** Returns how the files are read, or null if that is not known. */
  private String profile() {
    try {
      return context.profile().json(context.conf());
    } catch (Throwable t) { // the request fails in the same way, and reports it
      return null;
    }
  }

  /** Returns whether the scan can read ranges of files, as far as it is known before the query. */
  public synchronized boolean mayHaveRanges() {
    if (!context.takesRanges()) {
      return false;
    }
    if (selection != null && selection.hasRanges()) {
      return true;
    }
    if (latest != null && !latest.files.hasRanges()) {
      return false;
    }
    for (IndexLocation location : context.locations()) {
      FileSnapshot known = (FileSnapshot) Snapshots.snapshots.get(location.directory());
      if (known == null || known.hasParts()) {
        return true;
      }
    }
    return false;
  }

  /** Returns the size of the files that the scan reads, or of all files if it is not known. */
  public synchronized long sizeInBytes() {
    if (size == UNKNOWN) {
      size = isSized ? prunedSize() : UNKNOWN;
      if (size == UNKNOWN) {
        size = fullSize == UNKNOWN ? index.sizeInBytes() : fullSize;
      } else if (fullSize != UNKNOWN) {
        size = Math.min(size, fullSize);
      }
    }
    return size;
  }

  private long prunedSize() {
    if (selection != null) {
      return selection.bytes();
    }
    boolean isPlanned = beginPlanning();
    try {
      return listedSize();
    } catch (Throwable t) { // the listing of the query fails in the same way, and reports it
      Failures.logDebug("the size of a listing", t);
      return UNKNOWN;
    } finally {
      endPlanning(isPlanned);
    }
  }

  /** Begins a listing for a query that may not run, and returns whether it has to be ended. */
  private static boolean beginPlanning() {
    boolean isPlanned = Explanation.current() == null && !Explanation.isExecuting();
    if (isPlanned) {
      Explanation.begin(PLANNING);
    }
    return isPlanned;
  }

  private static void endPlanning(boolean isPlanned) {
    if (isPlanned) {
      Explanation.end();
    }
  }

  /** Lists the files for the query that will run, and returns their size if indexes were asked. */
  private long listedSize() {
    ListingFilters filters = CallbackExecutor.isInCallback() ? null : context.filters();
    if (filters == null || !ScanPruner.canPrune(context, filters)) {
      return UNKNOWN;
    }
    String profile = profile();
    if (profile == null) {
      return UNKNOWN;
    }
    if (latest == null || !latest.isOf(filters, profile)) {
      latest = new Listed(filters, profile, ScanPruner.plan(context, index, filters, null));
      question = null; // the facts are about the files of another listing
      facts = null;
    }
    return latest.files.sizeInBytes();
  }

  /** Forgets the listing, so that the next one asks the indexes. */
  public synchronized void forget() {
    latest = null;
    selected = null;
    question = null;
    facts = null;
    size = UNKNOWN;
  }
}
