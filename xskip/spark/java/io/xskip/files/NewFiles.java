package io.xskip.files;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** The creation of files. */
public final class NewFiles {
  private static final int BUFFER_SIZE = 4096;

  // the local file system of sessions in whose class path Hive is, as in Spark's distribution
  private static final String HIVE_LOCAL = "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem";

  private NewFiles() {}

  /**
   * Creates a file under a name that no other file ever has, and its folders; if its permissions
   * cannot be set, no file remains.
   */
  public static FSDataOutputStream create(FileSystem fileSystem, Path path) throws IOException {
    if (isS3(fileSystem)) {
      return createUnchecked(fileSystem, path);
    }
    RawLocalFileSystem local = local(fileSystem);
    if (local == null) {
      return fileSystem.create(path, false);
    }
    Configuration conf = fileSystem.getConf();
    // Without its native library, Hadoop starts two processes for each file that it creates on a
    // local disk, which set the permissions of the file and of its checksums. The same permissions
    // are set here, and no file of checksums is written. Other classes of file systems, also
    // subclasses of Hadoop's, create files as they do.
    FSDataOutputStream out =
        local.create(
            path,
            null,
            false,
            conf.getInt("io.file.buffer.size", BUFFER_SIZE),
            fileSystem.getDefaultReplication(path),
            fileSystem.getDefaultBlockSize(path),
            null);
    try {
      FsPermission permission =
          FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(conf));
      setPermission(local, path, permission);
      return out;
    } catch (Throwable t) {
      try {
        out.close();
        local.delete(path, false);
      } catch (IOException e) {
        t.addSuppressed(e);
      }
      throw t;
    }
  }

  /**
   * Returns whether a file system is Hadoop's S3A itself, which asks twice whether a name is that
   * of a file. Other classes below the scheme can rename in another way.
   */
  public static boolean isS3(FileSystem fileSystem) {
    return "org.apache.hadoop.fs.s3a.S3AFileSystem".equals(fileSystem.getClass().getName());
  }

  /** Creates a file by one request, where S3A would look for a file and for a folder before. */
  private static FSDataOutputStream createUnchecked(FileSystem fileSystem, Path path)
      throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = fileSystem.createFile(path);
    builder.overwrite(true);
    builder.recursive();
    builder.opt("fs.s3a.create.performance", true); // versions without this option ignore it
    return (FSDataOutputStream) builder.build();
  }

  /**
   * Removes the checksums of a local file that does not exist: a file that gets this name without
   * any could not be read.
   */
  public static void removeChecksums(FileSystem fileSystem, Path path) throws IOException {
    RawLocalFileSystem local = local(fileSystem);
    if (local != null) {
      local.delete(new Path(path.getParent(), "." + path.getName() + ".crc"), false);
    }
  }

  /** Returns the local file system below one of Hadoop or Hive, null for all others. */
  private static RawLocalFileSystem local(FileSystem fileSystem) {
    boolean isKnown =
        fileSystem.getClass() == LocalFileSystem.class
            || fileSystem.getClass().getName().equals(HIVE_LOCAL);
    FileSystem raw = isKnown ? ((FilterFileSystem) fileSystem).getRawFileSystem() : null;
    return raw instanceof RawLocalFileSystem ? (RawLocalFileSystem) raw : null;
  }

  private static void setPermission(RawLocalFileSystem local, Path path, FsPermission permission)
      throws IOException {
    try {
      Files.setPosixFilePermissions(
          local.pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
    } catch (UnsupportedOperationException e) { // a file system without POSIX permissions
      local.setPermission(path, permission);
    }
  }
}
