package io.xskip.snapshot;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Bytes;
import io.xskip.common.Json;
import io.xskip.common.RootNames;
import io.xskip.protocol.Answer;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;
import org.apache.hadoop.fs.FileStatus;

/**
 * The files to which an answer was applied, for reports. The object shares its arrays with the
 * snapshot and the answer, so that a query copies nothing. It does not keep the files of a listing
 * in memory, only their ordinals.
 */
public final class ListedFiles {
  private static final int[][] NONE = new int[0][];

  private final BitSet unlistedOrdinals;
  private final int[][] ordinals;
  private final WeakReference<FileOrdinals[]> listing;
  private final RootNames names;
  private final Answer answer;
  private final int count;

  /**
   * Creates the files of an answer.
   *
   * @param unlistedOrdinals the ordinals of files of the snapshot that no listing contains, or null
   * @param listing the files of a listing, or null
   * @param names the names of the root, or null if it has only one
   */
  ListedFiles(BitSet unlistedOrdinals, FileOrdinals[] listing, RootNames names, Answer answer) {
    this.unlistedOrdinals = unlistedOrdinals == null ? new BitSet() : unlistedOrdinals;
    this.listing = new WeakReference<>(listing);
    this.names = names;
    this.answer = answer;
    ordinals = listing == null ? NONE : new int[listing.length][];
    int total = this.unlistedOrdinals.cardinality();
    for (int i = 0; i < ordinals.length; i++) {
      ordinals[i] = listing[i].all();
      total += ordinals[i].length;
    }
    count = total;
  }

  /** Returns the number of files. */
  public int count() {
    return count;
  }

  /**
   * Returns the ordinal of each file as little-endian int32, in base 64: -1 for a file that is not
   * in the snapshot.
   */
  public String ordinals() {
    ByteBuffer buffer = ByteBuffer.allocate(count * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int ordinal : flat()) {
      buffer.putInt(ordinal);
    }
    return Bytes.text(buffer.array());
  }

  /** Returns a bitmap of the files that the query reads, the lowest bit first, in base 64. */
  public String kept() {
    byte[] bits = new byte[count / 8 + 1];
    int i = 0;
    for (int ordinal : flat()) {
      if (ordinal == FileOrdinals.UNKNOWN || !answer.skips(ordinal)) {
        bits[i >>> 3] |= (byte) (1 << (i & 7));
      }
      i++;
    }
    return Bytes.text(bits);
  }

  private int[] flat() {
    int[] all = new int[count];
    int end = 0;
    for (int ordinal = unlistedOrdinals.nextSetBit(0);
        ordinal >= 0;
        ordinal = unlistedOrdinals.nextSetBit(ordinal + 1)) {
      all[end] = ordinal;
      end++;
    }
    for (int[] slice : ordinals) {
      System.arraycopy(slice, 0, all, end, slice.length);
      end += slice.length;
    }
    return all;
  }

  /**
   * Returns the name in the index, the length and the modification time of the first files that are
   * not in the snapshot, as a JSON array of arrays. It is empty if the listing is no longer in
   * memory.
   *
   * @param most the greatest number of files
   */
  public String unknown(final int most) {
    final FileOrdinals[] files = (FileOrdinals[]) listing.get();
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            if (files != null) {
              writeUnknown(json, files, most);
            }
            json.writeEndArray();
          }
        });
  }

  private void writeUnknown(JsonGenerator json, FileOrdinals[] files, int most) throws IOException {
    int left = most;
    for (FileOrdinals slice : files) {
      for (int i = 0; i < slice.size() && left > 0; i++) {
        if (slice.all()[i] == FileOrdinals.UNKNOWN) {
          FileStatus file = slice.file(i);
          json.writeStartArray();
          String path = file.getPath().toUri().getPath();
          json.writeString(names == null ? path : names.recorded(path));
          json.writeNumber(file.getLen());
          json.writeNumber(file.getModificationTime());
          json.writeEndArray();
          left--;
        }
      }
    }
  }
}
