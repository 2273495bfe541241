package io.xskip.quixlake;

import io.xskip.common.Json;
import io.xskip.common.Parallel;
import io.xskip.common.Paths;
import io.xskip.shims.SparkCompat;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/**
 * The segments of a topic on any file system: the renaming and the removal of hidden files, and the
 * end of uploads.
 */
public final class SegmentFiles {
  static final String HIDDEN = "._xskip-"; // the start of the hidden names

  private static final int PLACES_OF_MOVE = 3;

  /**
   * Gives segments, each in {@code moves} with folder, hidden and final name, their final names, in
   * several threads.
   */
  public String rename(String topic, byte[] moves, String ending, int threads) throws Exception {
    // A segment that has its final name stays as it is; one whose final name other messages have
    // gets the ending, and 1 instead of 0 in the result. NUL separates the texts; the topic is a
    // key.
    String[] places = new String(moves, StandardCharsets.UTF_8).split("\0", -1);
    Path root = Paths.path(topic);
    FileSystem fileSystem = root.getFileSystem(SparkCompat.hadoopConf());
    List<Rename> tasks = new ArrayList<>();
    for (int i = 0; i + PLACES_OF_MOVE <= places.length; i += PLACES_OF_MOVE) {
      Path folder = new Path(root, new Path(null, null, places[i]));
      Path hidden = new Path(folder, places[i + 1]);
      Path name = new Path(folder, places[i + 2]);
      Path other = new Path(folder, places[i + 2] + ending);
      tasks.add(new Rename(fileSystem, hidden, name, other));
    }
    StringBuilder digits = new StringBuilder();
    for (Boolean isOther : Parallel.results(tasks, threads)) {
      digits.append(isOther.booleanValue() ? '1' : '0');
    }
    return digits.toString();
  }

  /**
   * Returns the hidden files below a folder, which may not exist, as JSON: {@code
   * [["path",time],...]}.
   */
  public String hidden(String folder) throws IOException {
    TimedTexts found = new TimedTexts();
    Path root = Paths.path(folder);
    FileSystem fileSystem = root.getFileSystem(SparkCompat.hadoopConf());
    try {
      RemoteIterator<LocatedFileStatus> files = fileSystem.listFiles(root, true);
      while (files.hasNext()) {
        FileStatus file = (FileStatus) files.next();
        if (file.getPath().getName().startsWith(HIDDEN)) {
          found.add(file.getPath().toString(), file.getModificationTime());
        }
      }
    } catch (FileNotFoundException e) {
      if (fileSystem.exists(root)) {
        throw e;
      }
    }
    return Json.text(found);
  }

  /** Returns the sink's uploads below a folder as JSON: {@code [["text",time],...]}. */
  public String uploads(String folder) throws IOException {
    Path root = Paths.path(folder);
    UploadListing listing = new UploadListing(root.getFileSystem(SparkCompat.hadoopConf()));
    listing.add(root);
    return listing.json();
  }

  /**
   * Completes uploads, whose texts NUL separates, in several threads; changes no segment that
   * exists.
   */
  public void complete(byte[] uploads, int threads) throws Exception {
    runForEach(
        uploads,
        threads,
        new Action() {
          @Override
          public void run(String text) throws IOException {
            SegmentUpload upload = SegmentUpload.of(text);
            upload.complete(upload.fileSystem(SparkCompat.hadoopConf()));
          }
        });
  }

  /** Aborts uploads, whose texts NUL separates, in several threads; ignores those that ended. */
  public void abort(byte[] uploads, int threads) throws Exception {
    runForEach(
        uploads,
        threads,
        new Action() {
          @Override
          public void run(String text) throws IOException {
            SegmentUpload upload = SegmentUpload.of(text);
            upload.abort(upload.fileSystem(SparkCompat.hadoopConf()));
          }
        });
  }

  /**
   * Returns the URIs that Spark's column {@code _metadata.file_path} has for files in the folder of
   * a topic, which is a key. NUL separates names without scheme and authority, and a line break
   * separates URIs, which have none.
   */
  public String uris(String topic, byte[] names) {
    URI root = Paths.path(topic).toUri();
    StringBuilder uris = new StringBuilder();
    for (String name : new String(names, StandardCharsets.UTF_8).split("\0", -1)) {
      Path path = new Path(root.getScheme(), root.getAuthority(), name);
      uris.append(new Path(path.toString()).toUri()).append('\n');
    }
    return uris.toString();
  }

  /**
   * Removes files, whose paths NUL separates, in several threads; ignores files that do not exist.
   */
  public void remove(byte[] paths, int threads) throws Exception {
    runForEach(
        paths,
        threads,
        new Action() {
          @Override
          public void run(String text) throws IOException {
            Path path = Paths.path(text);
            path.getFileSystem(SparkCompat.hadoopConf()).delete(path, false);
          }
        });
  }

  /** An operation on the file or upload that a text names. */
  private interface Action {
    void run(String text) throws IOException;
  }

  /** Runs an action for each of the texts that NUL separates, in several threads. */
  private static void runForEach(byte[] texts, int threads, final Action action) throws Exception {
    List<Callable<Boolean>> tasks = new ArrayList<>();
    for (final String text : new String(texts, StandardCharsets.UTF_8).split("\0", -1)) {
      tasks.add(
          new Callable<Boolean>() {
            @Override
            public Boolean call() throws IOException {
              action.run(text);
              return Boolean.TRUE;
            }
          });
    }
    Parallel.results(tasks, threads);
  }
}
