package io.xskip.connection;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * The parts of the hook that most programs do not need: Python compiles and loads the classes of
 * each when they are first used.
 */
public final class Extensions {
  private static final Map<String, Object> loaded = new ConcurrentHashMap<>();
  private static volatile Function<String, byte[]> loader = null;

  private Extensions() {}

  /** Sets the function in Python that loads the extension of a name and calls {@link #set}. */
  public static void setLoader(Function<String, byte[]> function) {
    loader = function;
  }

  /** Sets the methods of an extension. */
  public static void set(String name, Object methods) {
    loaded.put(name, methods);
  }

  /** Returns the methods of an extension, or null if it was not used. */
  public static Object known(String name) {
    return loaded.get(name);
  }

  /** Returns the methods of an extension, which it loads if need be. */
  public static synchronized Object get(String name) throws Exception {
    if (!loaded.containsKey(name)) {
      Function<String, byte[]> function = loader;
      if (function == null) {
        throw new IllegalStateException("xskip is not enabled; call xskip.enable(spark)");
      }
      HookState.call(function, name);
    }
    return loaded.get(name);
  }
}
