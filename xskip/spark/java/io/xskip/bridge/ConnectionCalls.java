package io.xskip.bridge;

import io.xskip.common.SkippingSettings;
import io.xskip.connection.Extensions;
import io.xskip.connection.HookState;
import io.xskip.read.KnownClasses;
import io.xskip.read.ReadSettings;
import io.xskip.shims.SparkCompat;
import java.lang.reflect.Field;
import java.util.List;
import java.util.function.Function;
import py4j.GatewayServer;
import py4j.Py4JServerConnection;

/** The methods for the connection between Python and the hook, and for settings of the process. */
public final class ConnectionCalls {
  /** Sets the function in Python that answers pruning requests. */
  public void setCallback(Function<String, byte[]> callback) {
    HookState.setCallback(callback);
  }

  /** Sets the names, and the beginnings of names, of the settings that decide values. */
  public void setConfKeys(String[] keys, String[] prefixes) {
    ReadSettings.setKeys(keys, prefixes);
  }

  /** Sets a value for the sessions that do not set the key themselves; null removes the value. */
  public void setProcessWide(String key, String value) {
    if (value == null) {
      SkippingSettings.processWide.remove(key);
    } else {
      SkippingSettings.processWide.put(key, value);
    }
  }

  /** Returns the settings of xskip that a session sets, as JSON, or null if it sets none. */
  public String settings(Object session) throws Exception {
    return SkippingSettings.message(SparkCompat.state(session).conf());
  }

  /** Declares a class of file indexes whose relations the rule prunes. */
  public void declareIndex(String className) {
    KnownClasses.declareIndex(className);
  }

  public void setExtensionLoader(Function<String, byte[]> loader) {
    Extensions.setLoader(loader);
  }

  public void setExtension(String name, Object methods) {
    Extensions.set(name, methods);
  }

  /** Declares a class of file formats whose relations the rule prunes. */
  public void declareFormat(String className) {
    KnownClasses.declareFormat(className);
  }

  /** Sets TCP_NODELAY on the connections of a py4j server. */
  public void answerAtOnce(Object server) {
    // The sockets gather small packets: an answer of more than 8 KB would wait some 40 ms for a
    // delayed ACK.
    try {
      Field connections = GatewayServer.class.getDeclaredField("connections");
      connections.setAccessible(true);
      for (Object connection : (List<?>) connections.get(server)) {
        ((Py4JServerConnection) connection).getSocket().setTcpNoDelay(true);
      }
    } catch (Throwable t) {
      // Another type of server: its answers are only slower.
    }
  }
}
