"""The types of the arguments of operators, which their schemas tell. Imports only the standard
library, so that the build can use it (scripts/make_operator_stub.py)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class ArgumentRule(NamedTuple):
    """What an argument may be."""

    type: str  # a key of ACCEPTED
    choices: tuple[str, ...] = ()  # of a string; (): any


# Type -> (the fields of an Argument that may hold its value, what it is called). Numbers in a list
# may be given one by one, integers where floats are asked for, and an empty list sets no field.
ACCEPTED = {
    "int": (("i",), "an integer"),
    "bool": (("i",), "a bool or an integer"),
    "float": (("i", "f"), "a number"),
    "string": (("s",), "a string"),
    "net": (("n", "s"), "a NetDef"),
    "ints": (("i", "ints", None), "a list of integers"),
    "floats": (("i", "f", "ints", "floats", None), "a list of numbers"),
    "strings": (("s", "strings", None), "a list of strings"),
}

# How a description begins: "(int > 0, default 1)", "(list of float)", "(4 ints)".
_TYPE_CLAUSE = re.compile(r"\(([^),]*)")
_TYPE_WORD = re.compile(r"\b(int|int64|float|bool|string|net)(s?)\b")
# The operator takes the argument for the sake of Caffe2's scripts, whatever it is.
_UNREAD = re.compile(r"(Not read|Accepted|Of Caffe2|Without effect)")
_CHOICES = re.compile(r"(?:\([^)]*\) )?(\w+(?: \([^)]*\))?(?:, \w+(?: \([^)]*\))?)* or \w+)\b")

# The types of arguments whose descriptions begin otherwise. Descriptions of a name that operators
# read as several types begin with the type (tests/python/test_argument_types.py compares both with
# the sources).
_TYPES_BY_NAME = {
    "int": """Y_zero_point absolute_path add_value adj allow_incomplete axis batch_size
        bounding_height bounding_width bounding_xmin bounding_ymin broadcast capacity chunk_size
        color color_jitter color_lighting crop decode_on_gpu decode_threads dilation dim dim_size
        end_idx every every_n group include_shared init_count is_test join_timeout_ms k
        keep_device keepdims kernel label_type legacy_pad limit load_all max_bad_records
        max_iterations minsize mirror noise_size num_batches num_blobs num_elements num_labels
        num_records num_reduce_dim num_segments num_shards output_first_dim pad port rank resident
        root scale_jitter_type seed shard_id size start_idx stride table_idx_blob tiles timeout_ms
        use_caffe_datum use_gpu_transform warp""",
    "bool": """add_axis async average broadcast_on_rows constant_filter copy_external_blobs
        count_include_pad dense_gradient dequantize_output drop_states enforce_unique_name
        enqueue_batch fast_gelu flat global_pooling grad grad_on_w held_out input_as_shape
        match_outer mpi_rendezvous no_bias own_sums reuse_workspace sequence_lengths shuffle tls
        to_file use_scaling_lengths""",
    "float": """Y_scale alpha color_lighting_std eps epsilon exponent height_scale high_value
        holdout img_brightness img_contrast img_saturation logspacing_start low_value margin max
        mean min momentum n noise_std random_erasing ratio scale std threshold timeout_secs
        width_scale""",
    "string": """add_prefix algo axis_str bin_spacing blob_name ca_file cert_file counter_name
        db_name db_type host interface key_file mode options order path port_range prefix
        soft_nms_method stat_name status_blob strip_prefix timestep token transport user""",
    "net": "backward_step_net cond_net else_net loop_net net step_net then_net",
    "ints": """alias_offset axes backward_link_offset backward_link_window dims ends extra_shape
        grad_input_indices grad_output_indices initial_recurrent_state_ids link_offset link_window
        mask outer_blobs_idx output_size output_sizes outputs_with_grads param random_scale shape
        split starts""",
    "floats": """W_scales color_lighting_eigvals color_lighting_eigvecs mean_per_channel
        std_per_channel weights""",
    "strings": """alias_dst alias_src backward_link_external backward_link_internal
        blob_name_overrides blob_names dbs field_names inner_blobs link_external link_internal
        param_grads recompute_blobs_on_backward recurrent_states saved_fwd_blobs settings
        source_blob_names""",
}
_TYPE_OF_NAME = {name: kind for kind, names in _TYPES_BY_NAME.items() for name in names.split()}
_WINDOW = ("kernel", "stride", "dilation", "adj")


def argument_type(name: str, description: str) -> str | None:
    """The type of an argument, a key of ACCEPTED; None if it may be anything."""
    clause = _TYPE_CLAUSE.match(description)
    word = _TYPE_WORD.search(clause[1]) if clause else None
    if clause is None or word is None:
        return None if _UNREAD.match(description) else _TYPE_OF_NAME.get(name)
    kind = "int" if word[1] == "int64" else word[1]
    return kind + "s" if word[2] or clause[1].startswith("list") else kind


def _choices(name, description):
    if name not in ("order", "mode"):
        return ()
    listed = _CHOICES.match(description)
    if listed is None:
        return ("NHWC",) if description.startswith("Must be NHWC") else ()
    return tuple(re.findall(r"\w+", re.sub(r"\([^)]*\)| or\b", "", listed[1])))


def argument_rules(schema: Any) -> dict[str, ArgumentRule]:
    """{name: what it may be} of the arguments of an OpSchema that have one type."""
    rules = {}
    for argument in schema.args:
        kind = argument_type(argument.name, argument.description)
        if kind is not None:
            rules[argument.name] = ArgumentRule(
                kind, _choices(argument.name, argument.description) if kind == "string" else ())
    one, several = ArgumentRule("int"), ArgumentRule("ints")
    for name in rules.keys() & set(_WINDOW):
        rules |= {name + "s": several, name + "_h": one, name + "_w": one}
    if "pad" in rules:
        rules |= {"pads": several, "pad_t": one, "pad_l": one, "pad_b": one, "pad_r": one}
    return rules
