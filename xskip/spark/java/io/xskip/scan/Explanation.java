package io.xskip.scan;

/** The explanation that the current thread makes. Its listings read no files. */
public final class Explanation {
  private static final ThreadLocal<String> NAME = new ThreadLocal<>();

  private Explanation() {}

  /** Gives the records of this thread a name as query. */
  public static void begin(String name) {
    NAME.set(name);
  }

  public static void end() {
    NAME.remove();
  }

  /** Returns the name of this thread's explanation, or null. */
  static String current() {
    return (String) NAME.get();
  }
}
