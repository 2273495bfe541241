package io.xskip.quixlake;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** The files into which a task writes its segments. */
final class SegmentOutputs {
  private final Path topic;
  private final String prefix;
  private final String ending;
  private final FileSystem fileSystem;
  private final Uploads uploads;
  private int count = 0;

  /**
   * Creates the outputs of a task in the folder of a topic; {@code prefix} begins the hidden names
   * that no other attempt has, and {@code ending} ends the final names.
   */
  SegmentOutputs(Path topic, String prefix, String ending, Configuration conf) throws IOException {
    this.topic = topic;
    this.prefix = prefix;
    this.ending = ending;
    fileSystem = topic.getFileSystem(conf);
    uploads = new Uploads(fileSystem, topic);
  }

  /** Returns the output of the next segment, in a folder below that of the topic. */
  SegmentOutput next(String folder) {
    Path path = new Path(topic, new Path(null, null, folder));
    HiddenOutput hidden = new HiddenOutput(fileSystem, new Path(path, prefix + count), ending);
    count++;
    return uploads.arePossible()
        ? new UploadOutput(uploads, fileSystem, path, hidden, ending)
        : hidden;
  }
}
