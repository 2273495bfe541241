package io.xskip.questdb;

import java.io.FileNotFoundException;

/** The transaction of a table that an execution of a query reads, and its open files. */
final class TableOfExecution {
  private final long execution;
  private TableDescription table;
  private OpenFiles openFiles = null;
  private boolean isFixed = false; // whether a scan has a listing of the transaction

  TableOfExecution(long execution, TableDescription table) {
    this.execution = execution;
    this.table = table;
  }

  synchronized TableDescription table() {
    return table;
  }

  synchronized OpenFiles openFiles() {
    return openFiles;
  }

  synchronized void fix() {
    isFixed = true;
  }

  /**
   * Opens the files of pieces and keeps to the transaction, or returns false if another one is, or
   * can be, taken.
   */
  synchronized boolean hold(TableDescription listed, boolean[] wanted) {
    if (listed != table) {
      return false;
    }
    if (openFiles == null) {
      openFiles = new OpenFiles(table.count());
      ExecutionFiles.add(execution, openFiles);
    }
    try {
      openFiles.add(table.folders(), wanted);
    } catch (FileNotFoundException e) { // a server has removed a file of the transaction
      return isFixed;
    }
    isFixed = true;
    return true;
  }

  /** Takes another transaction, unless a scan has a listing; returns whether it is another one. */
  synchronized boolean replace(TableDescription former, TableDescription next) {
    if (!isFixed && former == table && next != table) {
      if (openFiles != null) {
        openFiles.close();
        openFiles = null;
      }
      table = next;
    }
    return table != former || !isFixed;
  }
}
