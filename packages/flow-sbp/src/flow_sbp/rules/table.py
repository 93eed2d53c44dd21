"""The rules of all ops, keyed by the op's name; files are named as the ops' files are."""

from flow_sbp.rules import elementwise, linalg
from flow_sbp.signature import Rule

# name -> a Rule, or a function from the inputs' shapes to a Rule
TABLE = {**elementwise.RULES, **linalg.RULES}


def rule_of(name, shapes):
    """The Rule of an op for inputs of these shapes. ValueError for an op without one."""
    if name not in TABLE:
        raise ValueError(f"op {name!r} has no sharding rule; add a row to TABLE, or run it on inputs that lie as B")
    row = TABLE[name]
    return row if isinstance(row, Rule) else row(*shapes)
