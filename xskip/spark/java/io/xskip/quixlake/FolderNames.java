package io.xskip.quixlake;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;

/** The names of the folders of a Quix Lake, as {@code xskip/quixlake/names.py} encodes them. */
final class FolderNames {
  private static final String NULL = "__HIVE_DEFAULT_PARTITION__";
  private static final String ENCODED = "\"#%'*/:=?\\{[]^\u007f";
  private static final String DIGITS = "0123456789abcdef";

  private FolderNames() {}

  /** Returns the text of a key; bytes that are not UTF-8 become {@code \xNN}. */
  static String text(byte[] key) {
    CharsetDecoder decoder =
        StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT);
    ByteBuffer in = ByteBuffer.wrap(key);
    CharBuffer out = CharBuffer.allocate(key.length);
    StringBuilder text = new StringBuilder(key.length);
    while (true) {
      CoderResult result = decoder.decode(in, out, true);
      out.flip();
      text.append(out);
      out.clear();
      if (!result.isError()) {
        return text.toString();
      }
      for (int i = 0; i < result.length(); i++) {
        int octet = in.get();
        text.append("\\x")
            .append(DIGITS.charAt((octet >> 4) & 15))
            .append(DIGITS.charAt(octet & 15));
      }
      decoder.reset();
    }
  }

  /** Returns the name of the folder of a stream key, which can be null. */
  static String ofKey(String streamKey) {
    return "Key=" + (streamKey == null ? NULL : encoded(streamKey));
  }

  static String ofDay(long daysSinceEpoch) {
    return "Start=" + LocalDate.ofEpochDay(daysSinceEpoch);
  }

  private static String encoded(String text) {
    StringBuilder name = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean looksNull = i == 0 && text.equals(NULL);
      if (c < ' ' || ENCODED.indexOf(c) >= 0 || looksNull) {
        name.append(String.format("%%%02X", Integer.valueOf(c)));
      } else {
        name.append(c);
      }
    }
    return name.toString();
  }
}
