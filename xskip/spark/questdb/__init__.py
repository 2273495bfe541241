"""Tables of QuestDB for Spark: their description for the JVM, which reads the rows."""
