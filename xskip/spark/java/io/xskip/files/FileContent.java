package io.xskip.files;

import io.xskip.common.Parallel;
import io.xskip.shims.SparkCompat;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;

/** The file system of a path, and the content of a file, with as few requests as possible. */
final class FileContent {
  // Object stores, where a put is atomic and a rename is a copy; on other file systems a rename is
  // atomic and a write is not.
  private static final Set<String> OBJECT_STORES =
      new HashSet<>(
          Arrays.asList(
              "s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs", "swift", "wasb", "wasbs"));

  private FileContent() {}

  static FileSystem fileSystem(Path path) throws IOException {
    return path.getFileSystem(SparkCompat.hadoopConf());
  }

  static boolean isObjectStore(Path path) {
    String scheme = path.toUri().getScheme();
    return scheme != null && OBJECT_STORES.contains(scheme);
  }

  /**
   * Returns the bytes of a file, or null if there is none; {@code knownLength} is of a listing,
   * which saves requests, or null.
   */
  static byte[] read(Path path, Long knownLength) throws Exception {
    try {
      try {
        return bytes(path, knownLength);
      } catch (EOFException e) { // since the listing, a shorter file has taken the name
        return bytes(path, null);
      }
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  private static byte[] bytes(Path path, Long knownLength) throws Exception {
    long length =
        knownLength == null
            ? fileSystem(path).getFileStatus(path).getLen()
            : knownLength.longValue();
    byte[] bytes = new byte[(int) length];
    FSDataInputStream in = open(path, knownLength);
    try {
      in.readFully(bytes);
    } finally {
      in.close();
    }
    return bytes;
  }

  static FSDataInputStream open(Path path, Long knownLength) throws Exception {
    if (knownLength == null || !isObjectStore(path)) {
      return fileSystem(path).open(path);
    }
    FutureDataInputStreamBuilder builder = fileSystem(path).openFile(path);
    builder.opt("fs.option.openfile.length", knownLength.toString());
    builder.opt("fs.option.openfile.read.policy", "whole-file");
    return (FSDataInputStream) Parallel.result(builder.build());
  }
}
