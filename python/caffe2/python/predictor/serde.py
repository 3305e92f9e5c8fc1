"""Messages as bytes, and back."""


def serialize_protobuf_struct(protobuf_struct):
    """The bytes of a message."""
    return protobuf_struct.SerializeToString()


def deserialize_protobuf_struct(serialized_protobuf, struct_type):
    """The message of a type, from its bytes. Raises protobuf's DecodeError for others."""
    return struct_type.FromString(serialized_protobuf)
