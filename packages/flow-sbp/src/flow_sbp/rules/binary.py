"""Sharding rules of elementwise ops of two arguments: every dim splits, and none is linear."""

from flow_sbp.rules.elementwise import binary

RULES = dict.fromkeys(
    (
        "atan2",
        "binary_cross_entropy",
        "bitwise_and",
        "bitwise_left_shift",
        "bitwise_or",
        "bitwise_right_shift",
        "bitwise_xor",
        "copysign",
        "floor_divide",
        "fmax",
        "fmin",
        "fmod",
        "gcd",
        "hypot",
        "lcm",
        "logaddexp",
        "logaddexp2",
        "logical_and",
        "logical_or",
        "logical_xor",
        "nextafter",
        "remainder",
    ),
    binary(),
)
