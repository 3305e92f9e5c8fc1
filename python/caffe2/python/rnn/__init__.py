"""Utilities for tests of recurrent networks."""
