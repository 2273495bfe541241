package io.xskip.location;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** A directory that may contain the metadata of a dataset. */
public final class IndexLocation implements Json.Value {
  private final String root;
  private final String directory;
  private final String identifier;

  /**
   * Creates a location.
   *
   * @param root the root of the dataset, as a key of {@link io.xskip.common.Paths}
   * @param directory the directory of the metadata, as a key of {@link io.xskip.common.Paths}
   * @param identifier the identifier of the dataset in the files of the metadata
   */
  IndexLocation(String root, String directory, String identifier) {
    this.root = root;
    this.directory = directory;
    this.identifier = identifier;
  }

  /**
   * Returns the location of a dataset below a base location. The name of the directory is the
   * digest of the identifier. {@code xskip.metadatastore.location.metadata_directory} in Python
   * computes the same directory.
   */
  static IndexLocation below(String base, String root, String identifier) {
    int end = base.length();
    while (end > 0 && base.charAt(end - 1) == '/') {
      end--;
    }
    return new IndexLocation(root, base.substring(0, end) + "/" + digest(identifier), identifier);
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

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeStringField("root", root);
    json.writeStringField("directory", directory);
    json.writeStringField("identifier", identifier);
    json.writeEndObject();
  }
}
