package io.xskip.files;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.shims.SparkCompat;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.io.IOUtils;

/**
 * Metadata files on any file system that Spark can reach. A file appears with all its content or
 * not at all.
 */
public final class HadoopFiles {
  private static final String CONDITIONAL_OVERWRITE = "fs.option.create.conditional.overwrite";

  private static final int MAX_LENGTHS = 10000;
  private static final int MAX_CAUSES = 10;
  private static final int MAX_LISTINGS = 3;
  private static final int COPY_BUFFER = 1 << 16;

  // The lengths of listed files, by path. Metadata files never change, so the length in a listing
  // saves a request to the store before each read.
  private static final ConcurrentHashMap<String, Long> listedLengths = new ConcurrentHashMap<>();

  private static Path temporary(Path path) { // a hidden name next to the path
    return new Path(path.getParent(), "._" + path.getName() + "." + UUID.randomUUID() + ".tmp");
  }

  /**
   * Returns the files of a directory, which may not exist, as JSON: {@code
   * [["name",size,time],...]}.
   */
  public String list(String directory) throws IOException {
    Path path = new Path(directory);
    final FileStatus[] entries = entries(path);
    rememberLengths(path, entries);
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (FileStatus entry : entries) {
              if (entry.isFile()) {
                json.writeStartArray();
                json.writeString(entry.getPath().getName());
                json.writeNumber(entry.getLen());
                json.writeNumber(entry.getModificationTime());
                json.writeEndArray();
              }
            }
            json.writeEndArray();
          }
        });
  }

  /**
   * Returns the full paths of the directories in a directory, which may not exist, as a JSON array.
   */
  public String directories(String directory) throws IOException {
    final FileStatus[] entries = entries(new Path(directory));
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (FileStatus entry : entries) {
              if (entry.isDirectory()) {
                json.writeString(entry.getPath().toString());
              }
            }
            json.writeEndArray();
          }
        });
  }

  private static FileStatus[] entries(Path directory) throws IOException {
    try {
      return FileContent.fileSystem(directory).listStatus(directory);
    } catch (FileNotFoundException e) {
      return new FileStatus[0];
    }
  }

  /**
   * Returns all files below a directory, which may not exist, whose names do not begin with a dot
   * or an underscore.
   */
  public FileListing below(String directory) throws IOException {
    Path path = new Path(directory);
    for (int attempt = 1; ; attempt++) {
      try {
        return FileListing.of(visibleFiles(path));
      } catch (FileNotFoundException e) {
        if (!FileContent.fileSystem(path).exists(path)) {
          return FileListing.of(new ArrayList<FileStatus>());
        }
        if (attempt == MAX_LISTINGS) { // directories below disappear all the time
          throw e;
        }
      }
    }
  }

  private static List<FileStatus> visibleFiles(Path directory) throws IOException {
    List<FileStatus> files = new ArrayList<>();
    // An object store lists the files without their directories, many with each request.
    RemoteIterator<LocatedFileStatus> found =
        FileContent.fileSystem(directory).listFiles(directory, true);
    while (found.hasNext()) {
      FileStatus file = (FileStatus) found.next();
      String name = file.getPath().getName();
      if (!name.startsWith(".") && !name.startsWith("_")) {
        files.add(new FileStatus(file));
      }
    }
    return files;
  }

  private static void rememberLengths(Path directory, FileStatus[] entries) {
    for (FileStatus entry : entries) {
      if (entry.isFile()) {
        if (listedLengths.size() > MAX_LENGTHS) {
          listedLengths.clear();
        }
        String path = new Path(directory, entry.getPath().getName()).toString();
        listedLengths.put(path, Long.valueOf(entry.getLen()));
      }
    }
  }

  private static Long listedLength(Path path) { // null if it is not known
    return (Long) listedLengths.get(path.toString());
  }

  /** Returns the bytes of a file, or null if the file does not exist. */
  public byte[] read(String file) throws Exception {
    Path path = new Path(file);
    return FileContent.read(path, listedLength(path));
  }

  public String readListed(byte[] paths, byte[] lengths, int threads) throws Exception {
    return ListedFile.read(paths, lengths, threads);
  }

  /** Copies a file to a local path; returns false if the file does not exist. */
  public boolean fetch(String file, String local) throws Exception {
    Path path = new Path(file);
    try {
      FSDataInputStream in = FileContent.open(path, listedLength(path));
      try {
        FileOutputStream out = new FileOutputStream(local);
        try {
          IOUtils.copyBytes(in, out, COPY_BUFFER, false);
        } finally {
          out.close();
        }
      } finally {
        in.close();
      }
      return true;
    } catch (FileNotFoundException e) {
      return false;
    }
  }

  public void add(String local, String file) throws IOException {
    Path path = new Path(file);
    Path source = new Path("file:" + local);
    if (FileContent.isObjectStore(path)) {
      FileContent.fileSystem(path).copyFromLocalFile(false, true, source, path);
      return;
    }
    Path temporary = temporary(path);
    try {
      FileContent.fileSystem(path).copyFromLocalFile(false, true, source, temporary);
      rename(temporary, path);
    } finally {
      FileContent.fileSystem(path).delete(temporary, false);
    }
  }

  /** Creates a file with all its content; returns false if the file exists. */
  public boolean putIfAbsent(String file, byte[] data) throws Exception {
    Path path = new Path(file);
    try {
      if (FileContent.isObjectStore(path)) {
        create(path, data);
      } else {
        createByRename(path, data);
      }
      return true;
    } catch (Exception e) {
      if (isNameTaken(e)) {
        return false;
      }
      throw e;
    }
  }

  private static void createByRename(Path path, byte[] data) throws IOException {
    Path temporary = temporary(path);
    try {
      create(temporary, data);
      rename(temporary, path);
    } finally {
      FileContent.fileSystem(path).delete(temporary, false);
    }
  }

  private static void create(Path path, byte[] data) throws IOException {
    if (!FileContent.isObjectStore(path)) {
      FileContent.fileSystem(path).mkdirs(path.getParent());
    }
    FSDataOutputStreamBuilder<?, ?> builder = FileContent.fileSystem(path).createFile(path);
    builder.recursive();
    builder.overwrite(false); // an object store fails if the name is taken
    // S3A sends If-None-Match for this option; other file systems ignore it
    builder.opt(CONDITIONAL_OVERWRITE, true);
    FSDataOutputStream out = (FSDataOutputStream) builder.build();
    try {
      out.write(data);
    } finally {
      out.close();
    }
  }

  private static void rename(Path from, Path to) throws IOException {
    FileContext.getFileContext(from.toUri(), SparkCompat.hadoopConf())
        .rename(from, to, Options.Rename.NONE); // fails if the new name is taken
  }

  private static boolean isNameTaken(Throwable error) {
    Throwable cause = error;
    for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
      if (cause instanceof FileAlreadyExistsException
          || cause instanceof java.nio.file.FileAlreadyExistsException
          // of S3A, after a refused conditional put (HTTP 412), and not on every class path
          || cause.getClass().getSimpleName().equals("RemoteFileChangedException")) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }

  /**
   * Returns whether {@link #putIfAbsent} lets only one of several concurrent writers create a file.
   */
  public boolean keepsWritersApart(String file) throws IOException {
    Path path = new Path(file);
    String scheme = path.toUri().getScheme();
    return scheme == null
        || !scheme.startsWith("s3")
        // from Hadoop 3.4.2 on
        || FileContent.fileSystem(path).hasPathCapability(path, CONDITIONAL_OVERWRITE);
  }

  public void remove(String[] files) throws IOException {
    for (String file : files) {
      Path path = new Path(file);
      FileContent.fileSystem(path).delete(path, false);
    }
  }

  public void removeTree(String directory) throws IOException {
    Path path = new Path(directory);
    FileContent.fileSystem(path).delete(path, true);
  }
}
