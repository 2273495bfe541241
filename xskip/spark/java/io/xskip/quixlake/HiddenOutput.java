package io.xskip.quixlake;

import io.xskip.files.NewFiles;
import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A segment under a hidden name, which the commit renames. */
final class HiddenOutput extends SegmentOutput {
  private final FileSystem fileSystem;
  private final Path path;
  private final String ending;

  HiddenOutput(FileSystem fileSystem, Path path, String ending) {
    this.fileSystem = fileSystem;
    this.path = path;
    this.ending = ending;
  }

  @Override
  FSDataOutputStream create() throws IOException {
    return NewFiles.create(fileSystem, path);
  }

  @Override
  boolean needsDigest() {
    return false;
  }

  @Override
  StoredSegment store(String name, String digest) {
    return new StoredSegment(path.getName(), name + ending, null);
  }

  @Override
  void remove() throws IOException {
    fileSystem.delete(path, false);
  }
}
