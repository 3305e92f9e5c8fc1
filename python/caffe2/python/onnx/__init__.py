"""Nets from and to ONNX; needs the package onnx.

`frontend` turns NetDefs of convolutional networks into ONNX models. `backend` turns ONNX models
into NetDefs, which it runs.
"""
