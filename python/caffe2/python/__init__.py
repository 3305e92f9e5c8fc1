"""Build, run, inspect and train NetDefs."""
