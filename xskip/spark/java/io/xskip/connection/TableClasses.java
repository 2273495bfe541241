package io.xskip.connection;

import java.util.function.Function;

/**
 * The classes for tables of QuestDB, {@code io.xskip.questdb.TableRelations}. Most programs do not
 * need them, so that Python compiles and loads them when the first table is read.
 */
public final class TableClasses {
  private static volatile Function<String, byte[]> loader = null;
  private static volatile Object tables = null;

  private TableClasses() {}

  /** Sets the function in Python that loads the classes and calls {@link #setTables}. */
  public static void setLoader(Function<String, byte[]> function) {
    loader = function;
  }

  /** Sets the methods for tables. */
  public static void setTables(Object methods) {
    tables = methods;
  }

  /** Returns the methods for tables, or null if no table was read. */
  public static Object known() {
    return tables;
  }

  /** Returns the methods for tables, which it loads if need be. */
  public static synchronized Object tables() throws Exception {
    if (tables == null) {
      Function<String, byte[]> function = loader;
      if (function == null) {
        throw new IllegalStateException("xskip is not enabled; call xskip.enable(spark)");
      }
      HookState.call(function, "");
    }
    return tables;
  }
}
