"""Access to the parts of a MetaNetDef by key."""

from caffe2.python import core


def _value(entries, key, what):
    for entry in entries:
        if entry.key == key:
            return entry.value
    raise KeyError(f"the model has no {what} {key!r}; it has {[entry.key for entry in entries]}")


def _set(entries, key, value):
    if any(entry.key == key for entry in entries):
        raise ValueError(f"the model has {key!r} already")
    entry = entries.add(key=key)
    entry.value.CopyFrom(value)


def GetNet(meta_net_def, key):
    """The NetDef of a key; raises KeyError."""
    return _value(meta_net_def.nets, key, "net")


def GetBlobs(meta_net_def, key):
    """The blob names of a key; [] if there is none."""
    for entry in meta_net_def.blobs:
        if entry.key == key:
            return list(entry.value)
    return []


def GetPlan(meta_net_def, key):
    """The PlanDef of a key; raises KeyError."""
    return _value(meta_net_def.plans, key, "plan")


def AddNet(meta_net_def, net_name, net):
    """Adds a Net or NetDef under a key. Raises ValueError if there is one."""
    _set(meta_net_def.nets, net_name, net.Proto() if isinstance(net, core.Net) else net)


def AddPlan(meta_net_def, plan_name, plan):
    """Adds a Plan or PlanDef under a key. Raises ValueError if there is one."""
    _set(meta_net_def.plans, plan_name, plan.Proto() if isinstance(plan, core.Plan) else plan)


def AddBlobs(meta_net_def, blob_name, blob_def):
    """Appends blob names to those of a key."""
    for entry in meta_net_def.blobs:
        if entry.key == blob_name:
            break
    else:
        entry = meta_net_def.blobs.add(key=blob_name)
    entry.value.extend(str(blob) for blob in blob_def)


def ReplaceBlobs(meta_net_def, blob_name, blob_def):
    """Replaces the blob names of a key. Raises KeyError if the model has none of this key."""
    for entry in meta_net_def.blobs:
        if entry.key == blob_name:
            entry.value[:] = [str(blob) for blob in blob_def]
            return
    raise KeyError(f"the model has no blobs {blob_name!r}")


def GetApplicationSpecificInfo(meta_net_def, key):
    """The text of a key, or None."""
    for entry in meta_net_def.applicationSpecificInfo:
        if entry.key == key:
            return entry.value
    return None


def AddApplicationSpecificInfo(meta_net_def, key, value):
    """Adds text under a key."""
    meta_net_def.applicationSpecificInfo.add(key=key, value=value)
