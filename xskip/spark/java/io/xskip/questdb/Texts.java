package io.xskip.questdb;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** The text of values. Rules: [QDB-TY-1] [QDB-TY-4] [QDB-TY-5]. */
final class Texts {
  private static final byte[] HEX = "0123456789abcdef".getBytes();
  private static final byte[] GEOHASH = "0123456789bcdefghjkmnpqrstuvwxyz".getBytes();
  private static final int REPLACEMENT = 0xFFFD;

  // the least code points of two, three and four bytes; smaller ones have a shorter form
  private static final int[] LEAST = {0, 0, 0x80, 0x800, 0x10000};

  private static final long NOT_ASCII = 0x8080808080808080L;

  private Texts() {}

  /** Returns text in UTF-16, lower bytes first; a surrogate without its partner becomes U+FFFD. */
  static UTF8String ofUtf16(byte[] data, int at, int units) {
    byte[] text = new byte[3 * units];
    int length = 0;
    for (int i = 0; i < units; i++) {
      int unit = unit(data, at, i);
      if (unit < 0x80) {
        text[length++] = (byte) unit;
        continue;
      }
      int point = unit;
      if (Character.isSurrogate((char) unit)) {
        boolean isPaired =
            Character.isHighSurrogate((char) unit)
                && i + 1 < units
                && Character.isLowSurrogate((char) unit(data, at, i + 1));
        point =
            isPaired ? Character.toCodePoint((char) unit, (char) unit(data, at, ++i)) : REPLACEMENT;
      }
      length = append(point, text, length);
    }
    return UTF8String.fromBytes(length == text.length ? text : Arrays.copyOf(text, length));
  }

  private static int unit(byte[] data, int at, int i) {
    return (data[at + 2 * i] & 0xFF) | (data[at + 2 * i + 1] & 0xFF) << 8;
  }

  private static int append(int point, byte[] text, int at) {
    int length = at;
    if (point < 0x800) {
      text[length++] = (byte) (0xC0 | point >> 6);
    } else {
      if (point < 0x10000) {
        text[length++] = (byte) (0xE0 | point >> 12);
      } else {
        text[length++] = (byte) (0xF0 | point >> 18);
        text[length++] = (byte) (0x80 | (point >> 12 & 0x3F));
      }
      text[length++] = (byte) (0x80 | (point >> 6 & 0x3F));
    }
    text[length++] = (byte) (0x80 | (point & 0x3F));
    return length;
  }

  static boolean isUtf8(byte[] data, int start, int length) {
    int end = start + length;
    int at = start;
    while (at + Long.BYTES <= end
        && (Platform.getLong(data, Platform.BYTE_ARRAY_OFFSET + at) & NOT_ASCII) == 0) {
      at += Long.BYTES;
    }
    while (at < end) {
      int size = data[at] >= 0 ? 1 : sizeOfPoint(data, at, end);
      if (size == 0) {
        return false;
      }
      at += size;
    }
    return true;
  }

  /** Returns how many bytes a code point that is not ASCII has, or 0 if it is not UTF-8. */
  private static int sizeOfPoint(byte[] data, int at, int end) {
    int size = Integer.numberOfLeadingZeros(~(data[at] << 24));
    if (size < 2 || size >= LEAST.length || at + size > end) {
      return 0;
    }
    int point = data[at] & (0x7F >> size);
    for (int i = 1; i < size; i++) {
      if ((data[at + i] & 0xC0) != 0x80) {
        return 0;
      }
      point = point << 6 | (data[at + i] & 0x3F);
    }
    boolean isPoint = point >= LEAST[size] && point <= Character.MAX_CODE_POINT;
    return isPoint && (point < Character.MIN_SURROGATE || point > Character.MAX_SURROGATE)
        ? size
        : 0;
  }

  /** Returns the canonical text of a UUID, whose bytes are in reverse order. */
  static UTF8String ofUuid(byte[] data, int at) {
    byte[] text = new byte[36];
    int length = 0;
    for (int i = 15; i >= 0; i--) {
      length = appendHex(data[at + i], text, length);
      if (i == 12 || i == 10 || i == 8 || i == 6) {
        text[length++] = '-';
      }
    }
    return UTF8String.fromBytes(text);
  }

  /** Returns {@code 0x} and the digits of a number of 32 bytes, without leading bytes of zero. */
  static UTF8String ofLong256(byte[] data, int at) {
    int last = 31;
    while (last > 0 && data[at + last] == 0) {
      last--;
    }
    byte[] text = new byte[2 * last + 4];
    text[0] = '0';
    text[1] = 'x';
    int length = 2;
    for (int i = last; i >= 0; i--) {
      length = appendHex(data[at + i], text, length);
    }
    return UTF8String.fromBytes(text);
  }

  static UTF8String ofAddress(int value) {
    return UTF8String.fromString(
        (value >>> 24)
            + "."
            + (value >>> 16 & 0xFF)
            + "."
            + (value >>> 8 & 0xFF)
            + "."
            + (value & 0xFF));
  }

  /** Returns the text of a geohash: characters of five bits, or bits. */
  static UTF8String ofGeohash(long value, int bits) {
    int step = bits % 5 == 0 ? 5 : 1;
    byte[] alphabet = step == 5 ? GEOHASH : HEX;
    byte[] text = new byte[bits / step];
    for (int i = 0; i < text.length; i++) {
      text[i] = alphabet[(int) (value >>> (bits - step * (i + 1))) & ((1 << step) - 1)];
    }
    return UTF8String.fromBytes(text);
  }

  private static int appendHex(byte value, byte[] text, int at) {
    text[at] = HEX[value >> 4 & 15];
    text[at + 1] = HEX[value & 15];
    return at + 2;
  }
}
