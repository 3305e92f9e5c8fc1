"""Fully connected layers."""

from caffe2.python.modeling import initializers
from caffe2.python.modeling.parameter_info import ParameterTags


def add_weight_and_bias(model, blob_out, weight_shape, bias_shape, weight_init, bias_init,
                        WeightInitializer, BiasInitializer, use_bias=True,
                        freeze_bias=False):
    """Adds the parameters "<blob_out>_w" and "<blob_out>_b"; returns them as a list.

    Defaults: XavierFill and zeros. A frozen bias is not trained.
    """
    weight = model.create_param(
        param_name=blob_out + "_w", shape=weight_shape,
        initializer=initializers.update_initializer(
            WeightInitializer, weight_init, ("XavierFill", {})),
        tags=ParameterTags.WEIGHT)
    if not use_bias:
        return [weight]
    bias = model.create_param(
        param_name=blob_out + "_b", shape=bias_shape,
        initializer=initializers.update_initializer(
            BiasInitializer, bias_init, ("ConstantFill", {})),
        tags=[ParameterTags.BIAS, ParameterTags.COMPUTED_PARAM] if freeze_bias
        else ParameterTags.BIAS)
    return [weight, bias]


def fc(model, blob_in, blob_out, dim_in, dim_out, weight_init=None, bias_init=None,
       WeightInitializer=None, BiasInitializer=None, enable_tensor_core=False, freeze_bias=False,
       **kwargs):
    """Y = X W^T + b.

    Args:
      blob_in: X [N, dim_in], or of more dimensions that flatten to it.
      blob_out: Y [N, dim_out]; the parameters are <blob_out>_w [dim_out, dim_in] and
        <blob_out>_b [dim_out].
      weight_init, bias_init: (operator type, arguments).
      freeze_bias: True for a bias that is not trained.
    """
    blob_out = blob_out or model.net.NextName()
    parameters = add_weight_and_bias(
        model, blob_out, [dim_out, dim_in], [dim_out], weight_init, bias_init, WeightInitializer,
        BiasInitializer, freeze_bias=freeze_bias)
    if enable_tensor_core:
        kwargs["engine"] = "TENSORCORE"
    return model.net.FC([blob_in, *parameters], blob_out, **kwargs)
