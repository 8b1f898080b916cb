"""How live members share unless configured otherwise."""

from cobandit.core import Geometric, RetryTimers, on_demand

LIVE_TIMERS = RetryTimers(first=2.0, least=0.1, growth=1.5, tick=60.0, longest=600.0)
"""In seconds."""

LIVE_SHARING = on_demand(Geometric(2, cap=64), loss_tolerant=LIVE_TIMERS)
"""The default sharing: loss-tolerant, with buffers that double up to 64 observations. It takes a fraction of the
messages of a threshold of one."""
