package io.xskip.quixlake;

import io.xskip.files.FileRange;
import io.xskip.files.NewFiles;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BBPartHandle;
import org.apache.hadoop.fs.BBUploadHandle;
import org.apache.hadoop.fs.FSBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.MultipartUploader;
import org.apache.hadoop.fs.PartHandle;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UploadHandle;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * A multipart upload of S3A. Its file appears when the upload completes, which any process can do
 * that has its text.
 */
final class SegmentUpload {
  private static final String CAPABILITY = "fs.capability.multipart.uploader";
  private static final String ENABLED = "fs.s3a.multipart.uploads.enabled";
  private static final String PURGE = "fs.s3a.multipart.purge"; // of old uploads by each client
  private static final String PART_SIZE = "fs.s3a.multipart.size";
  private static final long DEFAULT_PART_SIZE = 64L << 20;
  private static final long MIN_PART_SIZE = 5L << 20; // of S3
  private static final int PLACES = 3;
  private static final int ARGUMENTS_BEFORE_3_4_2 = 5;

  private final Path path;
  private final byte[] handle;
  private final List<byte[]> parts = new ArrayList<>();

  SegmentUpload(Path path, byte[] handle) {
    this.path = path;
    this.handle = handle;
  }

  /** Returns whether a file system is S3A with uploads that stay until they are completed. */
  static boolean isPossible(FileSystem fileSystem, Path path) throws IOException {
    Configuration conf = fileSystem.getConf();
    return NewFiles.isS3(fileSystem)
        && fileSystem.hasPathCapability(path, CAPABILITY)
        && conf.getBoolean(ENABLED, true)
        && !conf.getBoolean(PURGE, false);
  }

  /** Starts an upload of a file without parts. */
  static SegmentUpload start(FileSystem fileSystem, Path path) throws IOException {
    MultipartUploader uploader = uploader(fileSystem, path);
    try {
      UploadHandle handle = (UploadHandle) FutureIO.awaitFuture(uploader.startUpload(path));
      return new SegmentUpload(path, handle.toByteArray());
    } finally {
      uploader.close();
    }
  }

  /**
   * Parses a text: the handle and the handles of the parts in Base64, and the path. A path can have
   * spaces.
   */
  static SegmentUpload of(String text) {
    String[] places = text.split(" ", PLACES);
    Base64.Decoder decoder = Base64.getDecoder();
    SegmentUpload upload = new SegmentUpload(new Path(places[2]), decoder.decode(places[0]));
    for (String part : places[1].split(",")) {
      if (!part.isEmpty()) {
        upload.parts.add(decoder.decode(part));
      }
    }
    return upload;
  }

  String text() {
    Base64.Encoder encoder = Base64.getEncoder();
    List<String> texts = new ArrayList<>();
    for (byte[] part : parts) {
      texts.add(encoder.encodeToString(part));
    }
    return encoder.encodeToString(handle) + " " + String.join(",", texts) + " " + path;
  }

  /** Uploads a local file, in several parts if it is large. */
  void put(FileSystem fileSystem, File local) throws IOException {
    long size = local.length();
    long most =
        Math.max(fileSystem.getConf().getLongBytes(PART_SIZE, DEFAULT_PART_SIZE), MIN_PART_SIZE);
    MultipartUploader uploader = uploader(fileSystem, path);
    try {
      for (long at = 0; at < size; at += most) {
        long length = Math.min(most, size - at);
        FileRange range = new FileRange(local, at, length);
        try {
          parts.add(put(uploader, range, length, at + length == size));
        } finally {
          range.close();
        }
      }
    } finally {
      uploader.close();
    }
  }

  private byte[] put(MultipartUploader uploader, InputStream in, long length, boolean isLast)
      throws IOException {
    Integer number = Integer.valueOf(parts.size() + 1);
    UploadHandle own = BBUploadHandle.from(ByteBuffer.wrap(handle));
    Long size = Long.valueOf(length);
    Method method = putPart();
    Object[] arguments = // Hadoop 3.4.2 has added whether the part is the last one
        method.getParameterCount() == ARGUMENTS_BEFORE_3_4_2
            ? new Object[] {own, number, path, in, size}
            : new Object[] {own, number, Boolean.valueOf(isLast), path, in, size};
    try {
      Future<?> part = (Future<?>) method.invoke(uploader, arguments);
      return ((PartHandle) FutureIO.awaitFuture(part)).toByteArray();
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof IOException ? (IOException) e.getCause() : new IOException(e);
    } catch (IllegalAccessException e) {
      throw new IOException(e);
    }
  }

  private static Method putPart() {
    for (Method method : MultipartUploader.class.getMethods()) {
      if (method.getName().equals("putPart")) {
        return method;
      }
    }
    throw new IllegalStateException("Hadoop has no putPart");
  }

  /**
   * Makes the segment visible. Several processes can do this at once, and each can end at any
   * moment.
   */
  @SuppressWarnings("deprecation") // S3A asks only once for isFile
  void complete(FileSystem fileSystem) throws IOException {
    if (fileSystem.isFile(path)) { // it has the same messages: see SegmentDigest
      abandon(fileSystem);
      return;
    }
    Map<Integer, PartHandle> handles = new HashMap<>();
    for (int i = 0; i < parts.size(); i++) {
      handles.put(
          Integer.valueOf(i + 1), BBPartHandle.from(ByteBuffer.wrap((byte[]) parts.get(i))));
    }
    MultipartUploader uploader = uploader(fileSystem, path);
    try {
      FutureIO.awaitFuture(
          uploader.complete(BBUploadHandle.from(ByteBuffer.wrap(handle)), path, handles));
    } catch (IOException e) {
      checkIsThere(fileSystem, e);
    } finally {
      uploader.close();
    }
  }

  /** Fails unless the segment exists: the answer was lost, or another process was faster. */
  @SuppressWarnings("deprecation")
  private void checkIsThere(FileSystem fileSystem, IOException error) throws IOException {
    if (fileSystem.isFile(path)) {
      return;
    }
    if (error instanceof FileNotFoundException) { // the store does not know the upload
      String text = "a segment of a committed batch is missing: " + path;
      throw (IOException) new FileNotFoundException(text).initCause(error);
    }
    throw error;
  }

  private void abandon(FileSystem fileSystem) {
    try {
      abort(fileSystem);
    } catch (IOException e) { // the sink aborts it when it cleans up
      return;
    }
  }

  /** Aborts the upload; does nothing if it has ended. */
  void abort(FileSystem fileSystem) throws IOException {
    MultipartUploader uploader = uploader(fileSystem, path);
    try {
      FutureIO.awaitFuture(uploader.abort(BBUploadHandle.from(ByteBuffer.wrap(handle)), path));
    } catch (FileNotFoundException e) {
      return;
    } finally {
      uploader.close();
    }
  }

  FileSystem fileSystem(Configuration conf) throws IOException {
    return path.getFileSystem(conf);
  }

  private static MultipartUploader uploader(FileSystem fileSystem, Path path) throws IOException {
    FSBuilder<?, ?> builder = fileSystem.createMultipartUploader(path.getParent());
    return (MultipartUploader) builder.build();
  }
}
