package io.xskip.snapshot;

import io.xskip.protocol.FileTable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The ordinals that the files of a table have in a snapshot that was not made from the table. Only
 * the first query of a relation looks the files up.
 */
public final class TableOrdinals {
  private final long token;
  private final int[] ordinals;

  private TableOrdinals(long token, int[] ordinals) {
    this.token = token;
    this.ordinals = ordinals;
  }

  /** Looks up the files of a table, in several threads if there are many. */
  static TableOrdinals of(final FileTable files, final FileSnapshot snapshot) {
    final int[] ordinals = new int[files.count()];
    List<Integer> starts = new ArrayList<>();
    for (int start = 0; start < ordinals.length; start += ListingSlice.SIZE) {
      starts.add(Integer.valueOf(start));
    }
    starts.parallelStream()
        .forEach(
            new Consumer<Object>() {
              @Override
              public void accept(Object start) {
                lookUp(files, snapshot, ordinals, ((Integer) start).intValue());
              }
            });
    return new TableOrdinals(snapshot.token(), ordinals);
  }

  private static void lookUp(FileTable files, FileSnapshot snapshot, int[] ordinals, int start) {
    int last = -1;
    for (int i = start; i < Math.min(start + ListingSlice.SIZE, ordinals.length); i++) {
      ordinals[i] = snapshot.ordinal(files, i, last + 1);
      if (ordinals[i] != FileOrdinals.UNKNOWN) {
        last = ordinals[i];
      }
    }
  }

  /** Returns whether the ordinals are those of the snapshot with a token. */
  boolean isOf(long snapshotToken) {
    return token == snapshotToken;
  }

  /** Returns the ordinal of a file of the table, or {@link FileOrdinals#UNKNOWN}. */
  int of(int i) {
    return ordinals[i];
  }
}
