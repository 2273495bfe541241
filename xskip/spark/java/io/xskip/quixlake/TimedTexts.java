package io.xskip.quixlake;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Texts with times in milliseconds, which Python reads as JSON: {@code [["text",time],...]}. */
final class TimedTexts implements Json.Value {
  private final List<String> texts = new ArrayList<>();
  private final List<Long> times = new ArrayList<>();

  void add(String text, long time) {
    texts.add(text);
    times.add(Long.valueOf(time));
  }

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartArray();
    for (int i = 0; i < texts.size(); i++) {
      json.writeStartArray();
      json.writeString((String) texts.get(i));
      json.writeNumber(((Long) times.get(i)).longValue());
      json.writeEndArray();
    }
    json.writeEndArray();
  }
}
