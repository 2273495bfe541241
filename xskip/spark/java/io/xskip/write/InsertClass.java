package io.xskip.write;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.Type;

/**
 * The subclass of Spark's command that writes files, with statistics for the index. Neither javac
 * nor Janino can compile it: both see contradictions in what Spark's class inherits from Scala. Its
 * constructors are those of Spark's class.
 */
final class InsertClass {
  private static final Type NAME = Type.getObjectType("io/xskip/write/IndexedInsert");
  private static final Type SUPER = Type.getType(InsertIntoHadoopFsRelationCommand.class);

  // by its name: it is the class that uses this one
  private static final Type CALLS = Type.getObjectType("io/xskip/write/IndexedWrites");

  private static final Type PLAN = Type.getType(LogicalPlan.class);
  private static final Type TEXT = Type.getType(String.class);
  private static final Type PATH = Type.getType(Path.class);
  private static final Type TRACKER = Type.getType(BasicWriteJobStatsTracker.class);
  private static final Type CONF = Type.getType(Configuration.class);

  private static Class<?> defined = null;

  private InsertClass() {}

  /** Returns the class, which the first call defines. */
  static synchronized Class<?> get() throws Exception {
    if (defined == null) {
      defined = MethodHandles.lookup().defineClass(bytes());
    }
    return defined;
  }

  private static byte[] bytes() {
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    int access = Opcodes.ACC_PUBLIC | Opcodes.ACC_FINAL | Opcodes.ACC_SUPER;
    writer.visit(Opcodes.V1_8, access, NAME.getInternalName(), null, SUPER.getInternalName(), null);
    for (Constructor<?> constructor : InsertIntoHadoopFsRelationCommand.class.getConstructors()) {
      addConstructor(writer, Type.getConstructorDescriptor(constructor));
    }
    addTracker(writer);
    addCopy(writer);
    addName(writer);
    addEquality(writer);
    writer.visitEnd();
    return writer.toByteArray();
  }

  private static void addConstructor(ClassWriter writer, String descriptor) {
    MethodVisitor code = begin(writer, "<init>", descriptor);
    code.visitVarInsn(Opcodes.ALOAD, 0);
    int slot = 1;
    for (Type type : Type.getArgumentTypes(descriptor)) {
      code.visitVarInsn(type.getOpcode(Opcodes.ILOAD), slot);
      slot += type.getSize();
    }
    call(code, Opcodes.INVOKESPECIAL, SUPER, "<init>", descriptor);
    end(code, Opcodes.RETURN);
  }

  // return IndexedWrites.tracker(this, conf);
  private static void addTracker(ClassWriter writer) {
    MethodVisitor code =
        begin(writer, "basicWriteJobStatsTracker", Type.getMethodDescriptor(TRACKER, CONF));
    code.visitVarInsn(Opcodes.ALOAD, 0);
    code.visitVarInsn(Opcodes.ALOAD, 1);
    String descriptor = Type.getMethodDescriptor(TRACKER, SUPER, CONF);
    call(code, Opcodes.INVOKESTATIC, CALLS, "tracker", descriptor);
    end(code, Opcodes.ARETURN);
  }

  // Spark copies a command whose query changes:
  // return IndexedWrites.indexed(super.withNewChildInternal(query), outputPath());
  private static void addCopy(ClassWriter writer) {
    String name = "withNewChildInternal";
    String descriptor = Type.getMethodDescriptor(SUPER, PLAN);
    MethodVisitor code = begin(writer, name, descriptor);
    code.visitVarInsn(Opcodes.ALOAD, 0);
    code.visitVarInsn(Opcodes.ALOAD, 1);
    call(code, Opcodes.INVOKESPECIAL, SUPER, name, descriptor);
    code.visitVarInsn(Opcodes.ALOAD, 0);
    call(code, Opcodes.INVOKEVIRTUAL, SUPER, "outputPath", Type.getMethodDescriptor(PATH));
    String indexed = Type.getMethodDescriptor(SUPER, SUPER, PATH);
    call(code, Opcodes.INVOKESTATIC, CALLS, "indexed", indexed);
    end(code, Opcodes.ARETURN);
  }

  // plans show the name of Spark's command
  private static void addName(ClassWriter writer) {
    MethodVisitor code = begin(writer, "nodeName", Type.getMethodDescriptor(TEXT));
    code.visitLdcInsn(InsertIntoHadoopFsRelationCommand.class.getSimpleName());
    end(code, Opcodes.ARETURN);
  }

  // Spark keeps a node that equals its replacement: return other instanceof IndexedInsert;
  private static void addEquality(ClassWriter writer) {
    String descriptor = Type.getMethodDescriptor(Type.BOOLEAN_TYPE, Type.getType(Object.class));
    MethodVisitor code = begin(writer, "canEqual", descriptor);
    code.visitVarInsn(Opcodes.ALOAD, 1);
    code.visitTypeInsn(Opcodes.INSTANCEOF, NAME.getInternalName());
    end(code, Opcodes.IRETURN);
  }

  private static MethodVisitor begin(ClassWriter writer, String name, String descriptor) {
    MethodVisitor code = writer.visitMethod(Opcodes.ACC_PUBLIC, name, descriptor, null, null);
    code.visitCode();
    return code;
  }

  private static void call(
      MethodVisitor code, int opcode, Type owner, String name, String descriptor) {
    code.visitMethodInsn(opcode, owner.getInternalName(), name, descriptor, false);
  }

  private static void end(MethodVisitor code, int opcode) {
    code.visitInsn(opcode);
    code.visitMaxs(0, 0); // computed
    code.visitEnd();
  }
}
