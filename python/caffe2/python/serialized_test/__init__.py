"""Operator tests with reproducible inputs."""
