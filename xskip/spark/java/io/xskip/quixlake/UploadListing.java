package io.xskip.quixlake;

import io.xskip.common.Json;
import io.xskip.files.NewFiles;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** The sink's uploads below a folder that are not complete. */
final class UploadListing {
  // a digest, and the token of a compaction; the names of other programs have none
  private static final Pattern OWN =
      Pattern.compile(".*\\.avro(\\..*)?\\.[0-9a-f]{40}(\\.[0-9a-f]{32})?", Pattern.DOTALL);

  private final FileSystem fileSystem;
  private final TimedTexts found = new TimedTexts();

  UploadListing(FileSystem fileSystem) {
    this.fileSystem = fileSystem;
  }

  /** Adds the uploads below a folder, of which a file system that is not S3A has none. */
  void add(Path folder) throws IOException {
    if (!NewFiles.isS3(fileSystem)) {
      return;
    }
    // S3A before Hadoop 3.4 takes this as a prefix, which other topics can have without the slash.
    String key = fileSystem.makeQualified(folder).toUri().getPath().substring(1) + "/";
    RemoteIterator<?> uploads = (RemoteIterator<?>) invoke(fileSystem, "listUploads", key);
    while (uploads.hasNext()) {
      Object upload = uploads.next();
      String name = (String) property(upload, "key");
      if (OWN.matcher(name).matches()) {
        add(name, (String) property(upload, "uploadId"), property(upload, "initiated"));
      }
    }
  }

  private void add(String key, String id, Object time) {
    Path root = new Path(fileSystem.getUri().getScheme(), fileSystem.getUri().getAuthority(), "/");
    Path path = new Path(root, new Path(null, null, "/" + key));
    found.add(
        new SegmentUpload(path, id.getBytes(StandardCharsets.UTF_8)).text(),
        time instanceof Date ? ((Date) time).getTime() : ((Instant) time).toEpochMilli());
  }

  /** Returns the uploads as JSON: {@code [["text",time],...]}. */
  String json() {
    return Json.text(found);
  }

  /** Returns a property of an upload, whose getters have other names in AWS's former SDK. */
  private static Object property(Object upload, String name) throws IOException {
    String former = "get" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
    boolean isFormer = upload.getClass().getName().startsWith("com.amazonaws.");
    return invoke(upload, isFormer ? former : name);
  }

  private static Object invoke(Object target, String method, Object... arguments)
      throws IOException {
    try { // the hook is compiled without S3A
      Class<?>[] types = arguments.length == 0 ? new Class<?>[0] : new Class<?>[] {String.class};
      return target.getClass().getMethod(method, types).invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof IOException ? (IOException) e.getCause() : new IOException(e);
    } catch (ReflectiveOperationException e) {
      throw new IOException(e);
    }
  }
}
