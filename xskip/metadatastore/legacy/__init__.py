"""Encodings of other programs: Java's serialisation, the Julian calendar, and the limits of Xskipper's metadata."""
