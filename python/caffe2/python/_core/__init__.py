"""What core, workspace, utils, schema and net_builder offer under Caffe2's names.

Its modules import each other in one direction, as python/README.md lists them, and nothing of the
package above them.
"""
