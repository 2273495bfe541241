"""In-memory metadata: a table with one row for each file, and the profile with which Spark read the files."""
