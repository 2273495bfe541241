package io.xskip.files;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** The creation of files. */
public final class NewFiles {
  private static final int BUFFER_SIZE = 4096;

  private NewFiles() {}

  /**
   * Creates a file that does not exist, and its folders. Without its native library, Hadoop starts
   * a process for each file that it creates on a local disk, which sets the permissions of the
   * file. This method sets the same permissions itself.
   */
  public static FSDataOutputStream create(FileSystem fileSystem, Path path) throws IOException {
    if (!(fileSystem instanceof LocalFileSystem)) {
      return fileSystem.create(path, false);
    }
    Configuration conf = fileSystem.getConf();
    FSDataOutputStream out =
        fileSystem.create(
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
      setPermission((LocalFileSystem) fileSystem, path, permission);
      return out;
    } catch (Throwable t) {
      out.close();
      throw t;
    }
  }

  private static void setPermission(LocalFileSystem fileSystem, Path path, FsPermission permission)
      throws IOException {
    try {
      Files.setPosixFilePermissions(
          fileSystem.pathToFile(path).toPath(),
          PosixFilePermissions.fromString(permission.toString()));
    } catch (UnsupportedOperationException e) { // a file system without POSIX permissions
      fileSystem.setPermission(path, permission);
    }
  }
}
