package io.xskip.location;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Bytes;
import io.xskip.common.Json;
import io.xskip.common.RootNames;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** A directory that may contain the metadata of a dataset. */
public final class IndexLocation implements Json.Value {
  private final String root; // by which the index names the files, as a key of Paths
  private final String directory; // of the metadata, as a key of Paths
  private final String identifier; // of the dataset in the files of the metadata
  private final RootNames names;

  IndexLocation(String listed, String root, String directory, String identifier) {
    // Spark lists the dataset by the other name if there are symbolic links in it
    this.names = listed.equals(root) ? null : new RootNames(listed, root);
    this.root = root;
    this.directory = directory;
    this.identifier = identifier;
  }

  // metadata_directory of xskip.metadatastore.location in Python computes the same directory
  static IndexLocation below(String base, String listed, String root, String identifier) {
    int end = base.length();
    while (end > 0 && base.charAt(end - 1) == '/') {
      end--;
    }
    return new IndexLocation(
        listed, root, base.substring(0, end) + "/" + digest(identifier), identifier);
  }

  private static String digest(String identifier) {
    byte[] digest = Bytes.sha256(identifier.getBytes(StandardCharsets.UTF_8));
    StringBuilder hex = new StringBuilder(2 * digest.length);
    for (byte b : digest) {
      hex.append(Character.forDigit((b >> 4) & 15, 16)).append(Character.forDigit(b & 15, 16));
    }
    return hex.toString();
  }

  public String root() {
    return root;
  }

  public String directory() {
    return directory;
  }

  /** Returns the root by which Spark lists the files, as a key of Paths. */
  public String listed() {
    return names == null ? root : names.listed();
  }

  /** Returns both names of the root, or null if it has only one. */
  public RootNames names() {
    return names;
  }

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeStringField("root", root);
    json.writeStringField("directory", directory);
    json.writeStringField("identifier", identifier);
    if (names != null) {
      json.writeStringField("listed", names.listed());
    }
    json.writeEndObject();
  }
}
