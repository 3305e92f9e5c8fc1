"""The implementation of core, workspace, utils, schema and net_builder, which offer it under
Caffe2's names.

Its modules import only the modules that python/README.md lists in their own or earlier layers.
"""
