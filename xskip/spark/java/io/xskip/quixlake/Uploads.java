package io.xskip.quixlake;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.fs.Path;

/** Whether a task uploads its segments, and the local files that it uploads. */
final class Uploads {
  // the directories in which S3A keeps what it uploads
  private static final String BUFFER_DIRECTORIES = "fs.s3a.buffer.dir";

  private final FileSystem fileSystem;
  private boolean arePossible;
  private boolean areRefused = false;

  Uploads(FileSystem fileSystem, Path folder) throws IOException {
    this.fileSystem = fileSystem;
    arePossible = SegmentUpload.isPossible(fileSystem, folder);
  }

  boolean arePossible() {
    return arePossible;
  }

  /**
   * Makes the task write its other segments under hidden names, because it could not upload one.
   */
  void refuse() {
    arePossible = false;
    areRefused = true;
  }

  boolean areRefused() {
    return areRefused;
  }

  /** Creates an empty local file. */
  File localFile() throws IOException {
    LocalDirAllocator directories = new LocalDirAllocator(BUFFER_DIRECTORIES);
    Path any = directories.getLocalPathForWrite("xskip", fileSystem.getConf());
    File directory = new File(any.getParent().toUri().getPath());
    return File.createTempFile("xskip-", ".avro", directory);
  }
}
