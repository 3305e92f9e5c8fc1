"""Nets from and to ONNX, for the operators of convolutional networks; needs the package onnx.

`frontend` turns NetDefs into ONNX models, `backend` ONNX models into NetDefs, which it runs.
"""
