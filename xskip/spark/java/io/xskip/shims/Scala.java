package io.xskip.shims;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/** Copies of Scala's collections as Java's, and of Java's as Scala's, in the same order. */
public final class Scala {
  private Scala() {}

  /** Returns the value of an option, or null. */
  public static <T> T orNull(Option<T> option) {
    return option.isEmpty() ? null : (T) option.get();
  }

  public static <T> List<T> list(scala.collection.Iterable<T> elements) {
    List<T> list = new ArrayList<>();
    scala.collection.Iterator<T> iterator = elements.iterator();
    while (iterator.hasNext()) {
      list.add((T) iterator.next());
    }
    return list;
  }

  public static Map<Object, Object> map(scala.collection.Map<?, ?> entries) {
    Map<Object, Object> map = new LinkedHashMap<>();
    scala.collection.Iterator<?> iterator = entries.iterator();
    while (iterator.hasNext()) {
      Tuple2<?, ?> entry = (Tuple2<?, ?>) iterator.next();
      map.put(entry._1(), entry._2());
    }
    return map;
  }

  public static <T> Seq<T> seq(List<T> elements) {
    VectorBuilder<T> builder = new VectorBuilder<>();
    for (T element : elements) {
      builder.$plus$eq(element);
    }
    return (Seq<T>) builder.result();
  }
}
