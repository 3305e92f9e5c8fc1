"""Networks, and the models of Caffe2's zoo that `download` has installed here."""

import os

INSTALL = "python -m caffe2.python.models.download --install"
_ZOO = frozenset((
    "bvlc_alexnet", "bvlc_googlenet", "bvlc_reference_caffenet", "bvlc_reference_rcnn_ilsvrc13",
    "densenet121", "finetune_flickr_style", "inception_v1", "inception_v2", "mobilenet_v2",
    "mobilenet_v2_quantized", "resnet50", "squeezenet", "style_transfer", "vgg16", "vgg19",
    "zfnet512"))


def __getattr__(name):
    """Says how to install a model of the zoo; an AttributeError would reach the user as "cannot
    import name"."""
    if name in _ZOO and not os.path.isdir(os.path.join(os.path.dirname(__file__), name)):
        raise ModuleNotFoundError(
            f"the model {name} is not installed. {INSTALL} {name} fetches it; {INSTALL} ./{name} "
            "installs a folder that holds its predict_net.pb and init_net.pb")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
