package io.xskip.rewrite;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;

/** The kinds of joins that lack rows of a side. */
final class JoinTypes {
  private static final List<JoinType> PRUNES_LEFT =
      Arrays.asList(new JoinType[] {Inner$.MODULE$, LeftSemi$.MODULE$, RightOuter$.MODULE$});
  private static final List<JoinType> PRUNES_RIGHT =
      Arrays.asList(new JoinType[] {Inner$.MODULE$, LeftSemi$.MODULE$, LeftOuter$.MODULE$});
  private static final List<JoinType> KEEPS_LEFT =
      Arrays.asList(new JoinType[] {Inner$.MODULE$, LeftSemi$.MODULE$, LeftOuter$.MODULE$});

  private JoinTypes() {}

  /** Returns whether a join lacks rows without a partner of a side. */
  static boolean prunes(Join join, boolean isLeft) {
    return (isLeft ? PRUNES_LEFT : PRUNES_RIGHT).contains(join.joinType());
  }

  /** Returns whether a join without some rows of a side lacks only rows that have their values. */
  static boolean keeps(Join join, boolean isLeft) {
    return isLeft ? KEEPS_LEFT.contains(join.joinType()) : join.joinType() == Inner$.MODULE$;
  }
}
