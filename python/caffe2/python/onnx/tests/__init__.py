"""Helpers of tests of ONNX backends."""
