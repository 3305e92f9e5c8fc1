"""Distributed training of NetDef graphs."""
