package io.xskip.files;

import io.xskip.common.Json;
import io.xskip.common.SparkCompat;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.util.Arrays;
import java.util.HashSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;

/**
 * Files on any file system that Spark reaches, with the credentials it has. A file appears whole or
 * not at all.
 */
public class HadoopFiles {
  // a put is atomic there and a rename is a copy; elsewhere a rename is atomic and a write is not
  private static final HashSet OBJECT_STORES =
      new HashSet(
          Arrays.asList(
              new String[] {
                "s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs", "swift", "wasb", "wasbs"
              }));

  private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";

  // files are never changed: what a listing told of one saves the store a request before each
  // reading
  private static final ConcurrentHashMap lengths = new ConcurrentHashMap(); // path -> Long

  private static FileSystem fs(Path p) throws Exception {
    return p.getFileSystem(SparkCompat.hadoopConf());
  }

  private static boolean isObjectStore(Path p) {
    return p.toUri().getScheme() != null && OBJECT_STORES.contains(p.toUri().getScheme());
  }

  private static Path hidden(Path p) {
    return new Path(p.getParent(), "._" + p.getName() + "." + UUID.randomUUID() + ".tmp");
  }

  /** [["name",size,time],…], empty where there is no such directory. */
  public String list(String dir) throws Exception {
    StringBuilder sb = new StringBuilder("[");
    Path d = new Path(dir);
    FileStatus[] found;
    try {
      found = fs(d).listStatus(d);
    } catch (FileNotFoundException e) {
      found = new FileStatus[0];
    }
    for (int i = 0; i < found.length; i++) {
      if (!found[i].isFile()) continue;
      if (lengths.size() > 10000) lengths.clear();
      lengths.put(
          new Path(d, found[i].getPath().getName()).toString(), new Long(found[i].getLen()));
      if (sb.length() > 1) sb.append(',');
      sb.append('[');
      Json.string(sb, found[i].getPath().getName());
      sb.append(',')
          .append(found[i].getLen())
          .append(',')
          .append(found[i].getModificationTime())
          .append(']');
    }
    return sb.append(']').toString();
  }

  /** ["path",…] of the directories in a directory. */
  public String directories(String dir) throws Exception {
    StringBuilder sb = new StringBuilder("[");
    Path d = new Path(dir);
    FileStatus[] found;
    try {
      found = fs(d).listStatus(d);
    } catch (FileNotFoundException e) {
      found = new FileStatus[0];
    }
    for (int i = 0; i < found.length; i++) {
      if (!found[i].isDirectory()) continue;
      if (sb.length() > 1) sb.append(',');
      Json.string(sb, found[i].getPath().toString());
    }
    return sb.append(']').toString();
  }

  /** The bytes of a file, null where there is none. */
  public byte[] read(String path) throws Exception {
    Path p = new Path(path);
    try {
      try {
        return bytes(p, (Long) lengths.get(p.toString()));
      } catch (EOFException e) {
        return bytes(p, null);
      } // another file of this name since it was listed
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  private static byte[] bytes(Path p, Long known) throws Exception {
    byte[] b =
        new byte[(int) (known == null ? fs(p).getFileStatus(p).getLen() : known.longValue())];
    FSDataInputStream in = open(p, known);
    try {
      in.readFully(b);
    } finally {
      in.close();
    }
    return b;
  }

  private static FSDataInputStream open(Path p, Long known) throws Exception {
    if (known == null || !isObjectStore(p)) return fs(p).open(p);
    FutureDataInputStreamBuilder b = fs(p).openFile(p);
    b.opt("fs.option.openfile.length", known.toString());
    b.opt("fs.option.openfile.read.policy", "whole-file");
    try {
      return (FSDataInputStream) ((Future) b.build()).get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception) throw (Exception) e.getCause();
      throw e;
    }
  }

  /** Copies a file to a local path; false where there is none. */
  public boolean fetch(String path, String local) throws Exception {
    Path p = new Path(path);
    try {
      FSDataInputStream in = open(p, (Long) lengths.get(p.toString()));
      try {
        FileOutputStream out = new FileOutputStream(local);
        try {
          IOUtils.copyBytes(in, out, 1 << 16, false);
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

  public void add(String local, String path) throws Exception {
    Path p = new Path(path), from = new Path("file:" + local);
    if (isObjectStore(p)) {
      fs(p).copyFromLocalFile(false, true, from, p);
      return;
    }
    Path t = hidden(p);
    try {
      fs(p).copyFromLocalFile(false, true, from, t);
      rename(t, p);
    } finally {
      fs(p).delete(t, false);
    }
  }

  public boolean putIfAbsent(String path, byte[] data) throws Exception {
    Path p = new Path(path);
    try {
      if (isObjectStore(p)) {
        create(p, data);
        return true;
      }
      Path t = hidden(p);
      try {
        create(t, data);
        rename(t, p);
      } finally {
        fs(p).delete(t, false);
      }
      return true;
    } catch (Exception e) {
      if (isTaken(e)) return false;
      throw e;
    }
  }

  /**
   * Does an error say that the name is taken; S3A's for a conditional put (HTTP 412) is known by
   * its name alone.
   */
  private static boolean isTaken(Throwable t) {
    for (int i = 0; t != null && i < 10; i++, t = t.getCause())
      if (t instanceof FileAlreadyExistsException
          || t instanceof java.nio.file.FileAlreadyExistsException
          || t.getClass().getSimpleName().equals("RemoteFileChangedException")) return true;
    return false;
  }

  /** Are two writers of one file kept apart. S3A does so from Hadoop 3.4.2 on. */
  public boolean keepsWritersApart(String path) throws Exception {
    Path p = new Path(path);
    String scheme = p.toUri().getScheme();
    return scheme == null || !scheme.startsWith("s3") || fs(p).hasPathCapability(p, CONDITIONAL);
  }

  private static void create(Path p, byte[] data) throws Exception {
    if (!isObjectStore(p)) fs(p).mkdirs(p.getParent());
    FSDataOutputStreamBuilder b = fs(p).createFile(p);
    b.recursive();
    b.overwrite(false);
    b.opt(CONDITIONAL, true); // S3: If-None-Match; unknown options are passed over
    FSDataOutputStream out = (FSDataOutputStream) b.build();
    try {
      out.write(data);
    } finally {
      out.close();
    }
  }

  private static void rename(Path from, Path to) throws Exception {
    FileContext.getFileContext(from.toUri(), SparkCompat.hadoopConf())
        .rename(from, to, new Options.Rename[] {Options.Rename.NONE});
  }

  public void remove(String[] paths) throws Exception {
    for (int i = 0; i < paths.length; i++) {
      Path p = new Path(paths[i]);
      fs(p).delete(p, false);
    }
  }

  public void removeTree(String dir) throws Exception {
    Path p = new Path(dir);
    fs(p).delete(p, true);
  }
}
