package io.xskip.quixlake;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.common.SparkCompat;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** The segments of a topic on any file system: their renaming, and the removal of hidden files. */
public final class SegmentFiles {
  /** The start of the hidden names. */
  static final String HIDDEN = "._xskip-";

  private static final int PLACES_OF_MOVE = 3;

  /** Creates the access to segments. */
  public SegmentFiles() {}

  /**
   * Gives segments their final names, in several threads. A segment that has its final name stays
   * as it is.
   *
   * @param topic the folder of the topic, in the spelling of {@link Paths}
   * @param moves for each segment its folder, hidden name and final name, all separated by NUL
   * @param ending the end of the name of a segment whose final name other messages have
   * @return for each segment a digit: 1 if the name has the ending, and 0 otherwise
   */
  public String rename(String topic, byte[] moves, String ending, int threads) throws Exception {
    String[] places = new String(moves, StandardCharsets.UTF_8).split("\0", -1);
    Path root = Paths.path(topic);
    FileSystem fileSystem = root.getFileSystem(SparkCompat.hadoopConf());
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Future<Boolean>> results = new ArrayList<>();
      for (int i = 0; i + PLACES_OF_MOVE <= places.length; i += PLACES_OF_MOVE) {
        Path folder = new Path(root, new Path(null, null, places[i]));
        Path hidden = new Path(folder, places[i + 1]);
        Path name = new Path(folder, places[i + 2]);
        Path other = new Path(folder, places[i + 2] + ending);
        results.add(executor.submit(new Rename(fileSystem, hidden, name, other)));
      }
      StringBuilder digits = new StringBuilder();
      for (int i = 0; i < results.size(); i++) {
        digits.append(resultOf((Future<?>) results.get(i)) ? '1' : '0');
      }
      return digits.toString();
    } finally {
      executor.shutdownNow();
    }
  }

  private static boolean resultOf(Future<?> result) throws Exception {
    try {
      return ((Boolean) result.get()).booleanValue();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception) {
        throw (Exception) e.getCause();
      }
      throw e;
    }
  }

  /**
   * Returns the hidden files below a folder as JSON, {@code [["path",time],...]}. A folder that
   * does not exist has none.
   */
  public String hidden(String folder) throws IOException {
    final List<FileStatus> found = new ArrayList<>();
    Path root = Paths.path(folder);
    FileSystem fileSystem = root.getFileSystem(SparkCompat.hadoopConf());
    try {
      RemoteIterator<LocatedFileStatus> files = fileSystem.listFiles(root, true);
      while (files.hasNext()) {
        FileStatus file = (FileStatus) files.next();
        if (file.getPath().getName().startsWith(HIDDEN)) {
          found.add(file);
        }
      }
    } catch (FileNotFoundException e) {
      if (fileSystem.exists(root)) {
        throw e;
      }
    }
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (FileStatus file : found) {
              json.writeStartArray();
              json.writeString(file.getPath().toString());
              json.writeNumber(file.getModificationTime());
              json.writeEndArray();
            }
            json.writeEndArray();
          }
        });
  }

  /**
   * Removes files, in several threads; ignores files that do not exist.
   *
   * @param paths the paths, separated by NUL
   */
  public void remove(byte[] paths, int threads) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Future<Boolean>> results = new ArrayList<>();
      for (final String text : new String(paths, StandardCharsets.UTF_8).split("\0", -1)) {
        results.add(
            executor.submit(
                new Callable<Boolean>() {
                  @Override
                  public Boolean call() throws IOException {
                    Path path = Paths.path(text);
                    FileSystem fileSystem = path.getFileSystem(SparkCompat.hadoopConf());
                    return Boolean.valueOf(fileSystem.delete(path, false));
                  }
                }));
      }
      for (int i = 0; i < results.size(); i++) {
        resultOf((Future<?>) results.get(i));
      }
    } finally {
      executor.shutdownNow();
    }
  }
}
