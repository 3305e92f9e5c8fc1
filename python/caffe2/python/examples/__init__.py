"""Programs that train: ``python -m caffe2.python.examples.resnet50_trainer --help``."""
