"""Writes nets and exported models byte by byte: a test of models from strangers must not depend on
the library that checks them."""

import struct


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, value):
    """One field of a message: an int, a float, or bytes or text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


class Net(bytes):
    """A serialized NetDef, to tell it from other bytes in arguments."""


def argument(name, value):
    text = field(1, name)
    if isinstance(value, Net):
        return text + field(8, bytes(value))
    if isinstance(value, list):
        return text + b"".join(field(5 if isinstance(v, float) else 6, v) for v in value)
    return text + field({int: 3, float: 2}.get(type(value), 4), value)


def op(kind, inputs=(), outputs=(), **args):
    text = b"".join(field(1, blob) for blob in inputs)
    text += b"".join(field(2, blob) for blob in outputs) + field(4, kind)
    return text + b"".join(field(5, argument(*item)) for item in args.items())


def net(*ops, name="net", inputs=(), outputs=()):
    text = field(1, name) + b"".join(field(2, each) for each in ops)
    text += b"".join(field(7, blob) for blob in inputs)
    return Net(text + b"".join(field(8, blob) for blob in outputs))


def record(key, value):
    """A record of a minidb file."""
    return struct.pack("<ii", len(key), len(value)) + key.encode() + value


def string_blob(name, content):
    return record(name, field(1, name) + field(2, "std::string") + field(4, content))


def tensor_blob(name, values, storage=None):
    """A record with a vector of floats."""
    tensor = field(1, len(values)) + field(2, 1)
    if storage is None:
        tensor += field(3, struct.pack(f"<{len(values)}f", *values))
    else:
        tensor += field(12, storage)
    tensor += field(7, name)
    return record(name, field(1, name) + field(2, "Tensor") + field(3, tensor))


# Class scores of a picture of 8 x 8 grey pixels.
PREDICT = (op("Flatten", ["data"], ["flat"]), op("Softmax", ["flat"], ["softmax"]))


def model(predict=PREDICT, init=(), load=(), parameters=(), outputs=("softmax",), blobs=b"",
          info=None):
    """An exported model: its predict net, its net that makes inputs and outputs, and its net that
    loads parameters, as operators; the names of its parameters and outputs; further records; what
    it says for its users."""
    lists = {"PARAMETERS_BLOB_TYPE": parameters, "INPUTS_BLOB_TYPE": ["data"],
             "OUTPUTS_BLOB_TYPE": outputs}
    nets = {
        "PREDICT_INIT_NET_TYPE": net(*init, name="init"),
        "GLOBAL_INIT_NET_TYPE": net(*load, name="load", inputs=["!!PREDICTOR_DBREADER"]),
        "PREDICT_NET_TYPE": net(*predict, name="predict", inputs=["data"], outputs=outputs),
    }
    meta = b"".join(field(1, field(1, key) + b"".join(field(2, name) for name in names))
                    for key, names in lists.items())
    meta += b"".join(field(2, field(1, key) + field(2, bytes(each))) for key, each in nets.items())
    meta += b"".join(field(5, field(1, key) + field(2, value))
                     for key, value in (info or {}).items())
    return string_blob("!!META_NET_DEF", meta) + blobs


def load(*names):
    """The operator that loads parameters from the model's own file."""
    return op("Load", ["!!PREDICTOR_DBREADER"], names)
