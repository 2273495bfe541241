"""Tests of the query history."""
