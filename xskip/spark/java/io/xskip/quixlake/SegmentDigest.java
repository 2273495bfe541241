package io.xskip.quixlake;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;

/** The digest of a segment: of its codec, its schema, and its messages in their order. */
final class SegmentDigest {
  // With 40 digits, no digest looks like a token, which has 32: see xskip/quixlake/new_messages.py.
  private static final int BYTES = 20;

  private final MessageDigest digest;
  private final MessageWriter messages;
  private final BinaryEncoder encoder;

  SegmentDigest(String codec, boolean hasBranches, boolean hasNulls) {
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) { // each platform has it
      throw new IllegalStateException(impossible);
    }
    String head = codec + "\n" + MessageWriter.schema(hasNulls) + "\n";
    digest.update(head.getBytes(StandardCharsets.UTF_8));
    messages = new MessageWriter(hasBranches, hasNulls);
    encoder = EncoderFactory.get().binaryEncoder(new Sink(digest), null);
  }

  void append(InternalRow row) throws IOException {
    messages.write(row, encoder);
  }

  /** Returns the digest of what was appended as 40 hexadecimal digits; nothing can follow. */
  String text() throws IOException {
    encoder.flush();
    byte[] bytes = digest.digest();
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < BYTES; i++) {
      text.append(String.format("%02x", Byte.valueOf(bytes[i])));
    }
    return text.toString();
  }

  /** A stream into a digest. */
  private static final class Sink extends OutputStream {
    private final MessageDigest digest;

    Sink(MessageDigest digest) {
      this.digest = digest;
    }

    @Override
    public void write(int octet) {
      digest.update((byte) octet);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      digest.update(bytes, offset, length);
    }
  }
}
