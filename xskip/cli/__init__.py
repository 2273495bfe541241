"""The command line and its demonstrations."""
