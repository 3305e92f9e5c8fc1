"""Models from one file format to another: exported predictors (.mdl), init and predict nets (.pb),
ONNX, safetensors and PyTorch's state dicts.

`python -m caffe2.python.convert.quantize_command MODEL` is `doppio quantize MODEL`,
`python -m caffe2.python.convert SOURCE TARGET` is `doppio convert SOURCE TARGET`, and
`python -m caffe2.python.convert.inspect_command MODEL` is `doppio inspect MODEL`.
"""
