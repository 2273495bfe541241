package io.xskip.quixlake;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A segment in a local file, which is uploaded when it is complete. Only then its name is known,
 * and an upload needs the name.
 */
final class UploadOutput extends SegmentOutput {

  private final Uploads uploads;
  private final FileSystem fileSystem;
  private final Path folder;
  private final HiddenOutput other; // for a store that refuses uploads
  private final String ending;
  private File local = null; // null before create, and without a local directory
  private SegmentUpload upload = null; // null before it begins

  UploadOutput(
      Uploads uploads, FileSystem fileSystem, Path folder, HiddenOutput other, String ending) {
    this.uploads = uploads;
    this.fileSystem = fileSystem;
    this.folder = folder;
    this.other = other;
    this.ending = ending;
  }

  @Override
  FSDataOutputStream create() throws IOException {
    try {
      local = uploads.localFile();
    } catch (IOException e) { // S3A buffers in memory, where no local directory can be written
      uploads.refuse();
      return other.create();
    }
    return new FSDataOutputStream(new BufferedOutputStream(new FileOutputStream(local)), null);
  }

  @Override
  boolean needsDigest() {
    return true;
  }

  @Override
  StoredSegment store(String name, String digest) throws IOException {
    if (local == null) {
      return other.store(name, digest);
    }
    // Segments with one name have the same messages, so that an upload never replaces others.
    String unique = name + "." + digest + ending;
    try {
      upload = SegmentUpload.start(fileSystem, new Path(folder, unique));
    } catch (InterruptedIOException e) {
      throw e;
    } catch (IOException e) { // the store has no uploads, or allows none
      uploads.refuse();
      return storeHidden(name);
    }
    upload.put(fileSystem, local);
    Files.delete(local.toPath());
    return new StoredSegment(null, unique, upload.text());
  }

  private StoredSegment storeHidden(String name) throws IOException {
    FSDataOutputStream out = other.create();
    try {
      Files.copy(local.toPath(), out);
    } finally {
      out.close();
    }
    Files.delete(local.toPath());
    return other.store(name, null);
  }

  @Override
  void remove() throws IOException {
    if (local != null) {
      Files.deleteIfExists(local.toPath());
    }
    if (upload != null) {
      upload.abort(fileSystem);
    }
    if (uploads.areRefused()) {
      other.remove();
    }
  }
}
