package io.xskip.location;

import io.xskip.common.Json;
import java.security.MessageDigest;

/**
 * Where the metadata of a dataset may be: the dataset's root and the directory as the hook names
 * paths, and the identifier in the metadata's files.
 */
public class IndexLocation {
  public final String root, directory, identifier;

  IndexLocation(String root, String directory, String identifier) {
    this.root = root;
    this.directory = directory;
    this.identifier = identifier;
  }

  /**
   * Below a base location, by the digest of the identifier: as
   * xskip.metadatastore.location.metadata_directory.
   */
  static IndexLocation below(String base, String root, String identifier) throws Exception {
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(identifier.getBytes("UTF-8"));
    StringBuilder sb = new StringBuilder(base);
    while (sb.length() > 0 && sb.charAt(sb.length() - 1) == '/') sb.setLength(sb.length() - 1);
    sb.append('/');
    for (int i = 0; i < digest.length; i++) {
      String h = Integer.toHexString(digest[i] & 255);
      sb.append(h.length() == 1 ? "0" : "").append(h);
    }
    return new IndexLocation(root, sb.toString(), identifier);
  }

  public void json(StringBuilder sb) {
    sb.append("{\"root\":");
    Json.string(sb, root);
    sb.append(",\"directory\":");
    Json.string(sb, directory);
    sb.append(",\"identifier\":");
    Json.string(sb, identifier);
    sb.append('}');
  }
}
