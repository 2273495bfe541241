package io.xskip.location;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.RootNames;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** A directory that may contain the metadata of a dataset. */
public final class IndexLocation implements Json.Value {
  private final String root;
  private final String directory;
  private final String identifier;
  private final RootNames names;

  /**
   * Creates a location.
   *
   * @param listed the root by which Spark lists the dataset, as a key of {@link
   *     io.xskip.common.Paths}
   * @param root the root by which the index names the files: the same one, or the path to which
   *     symbolic links in it lead
   * @param directory the directory of the metadata, as a key of {@link io.xskip.common.Paths}
   * @param identifier the identifier of the dataset in the files of the metadata
   */
  IndexLocation(String listed, String root, String directory, String identifier) {
    this.names = listed.equals(root) ? null : new RootNames(listed, root);
    this.root = root;
    this.directory = directory;
    this.identifier = identifier;
  }

  /**
   * Returns the location of a dataset below a base location. The name of the directory is the
   * digest of the identifier. {@code xskip.metadatastore.location.metadata_directory} in Python
   * computes the same directory.
   */
  static IndexLocation below(String base, String listed, String root, String identifier) {
    int end = base.length();
    while (end > 0 && base.charAt(end - 1) == '/') {
      end--;
    }
    return new IndexLocation(
        listed, root, base.substring(0, end) + "/" + digest(identifier), identifier);
  }

  private static String digest(String identifier) {
    byte[] digest;
    try {
      digest =
          MessageDigest.getInstance("SHA-256").digest(identifier.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
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
