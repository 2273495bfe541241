package io.xskip.bridge;

import io.xskip.common.Failures;
import io.xskip.common.SkippingSettings;
import io.xskip.connection.Extensions;
import io.xskip.connection.HookState;
import io.xskip.rewrite.Rewrites;
import io.xskip.write.IndexedWrites;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;

/**
 * The optimizer rule, and the way to the methods that Python calls in {@code xskip.spark.bridge}.
 */
public final class SkippingRule extends PlanRule<LogicalPlan> {
  /**
   * Gives skipping file indexes to indexed relations; after an error the plan stays, unless the
   * session is strict.
   */
  @Override
  protected LogicalPlan rewrite(LogicalPlan plan) {
    // Spark optimizes a subquery by itself before the plan that contains it. It stays as it is
    // then: later rules still merge subqueries, turn them into joins and prune their partitions.
    // The plan that contains it is rewritten with its subqueries.
    if (plan instanceof Subquery) {
      return plan;
    }
    SkippingSettings settings = null;
    try {
      settings = HookState.settings();
      if (settings == null) {
        return plan;
      }
      if (plan instanceof Command) {
        settings.evaluate = false; // a command may write what it reads
      }
      LogicalPlan rewritten = new Rewrites(settings).rewritePlan(plan);
      return settings.writes ? IndexedWrites.rewrite(rewritten, settings) : rewritten;
    } catch (Throwable t) {
      Failures.logFailure("the optimizer rule", t);
      if (settings != null && settings.strict) {
        throw new RuntimeException("xskip (strict): " + t, t);
      }
      return plan;
    }
  }

  @Override
  public String ruleName() {
    return "io.xskip.bridge.SkippingRule";
  }

  public ConnectionCalls connection() {
    return new ConnectionCalls();
  }

  public LocationCalls locations() {
    return new LocationCalls();
  }

  public QueryCalls queries() {
    return new QueryCalls();
  }

  public BuildCalls builds() {
    return new BuildCalls();
  }

  public WriteCalls writes() {
    return new WriteCalls();
  }

  /** Returns the methods of an extension, or null if it was not used. */
  public Object knownExtension(String name) {
    return Extensions.known(name);
  }

  /** Returns the methods of an extension, whose classes the first call loads. */
  public Object extension(String name) throws Exception {
    return Extensions.get(name);
  }
}
