"""Access to the hook's classes that read and write segments of a Quix Lake."""
