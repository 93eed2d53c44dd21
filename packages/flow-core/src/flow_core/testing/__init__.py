"""Strategies for hypothesis: dtypes, shapes, arrays, and the calls of each op. Needs hypothesis."""

from flow_core.testing.draw import DTYPES as DTYPES
from flow_core.testing.draw import FLOATS as FLOATS
from flow_core.testing.draw import NIGHTLY as NIGHTLY
from flow_core.testing.draw import Draw as Draw
from flow_core.testing.draw import OpCall as OpCall
from flow_core.testing.draw import examples as examples
from flow_core.testing.rows import CALLS as CALLS
from flow_core.testing.rows import calls as calls
