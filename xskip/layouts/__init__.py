"""Layouts: indexes computed from an object's path."""
