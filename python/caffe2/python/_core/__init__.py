"""What core, workspace, utils, schema and net_builder offer under Caffe2's names.

Its modules import only the modules that python/README.md lists in their own or earlier layers.
"""
