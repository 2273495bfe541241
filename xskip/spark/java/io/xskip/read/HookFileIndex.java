package io.xskip.read;

/** Marks a file index of the hook whose files contain all rows of a table and no others. */
public interface HookFileIndex {}
