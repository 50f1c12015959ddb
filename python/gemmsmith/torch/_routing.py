"""enable(): torch's own products take tuned plans, in eager code and under torch.compile."""

import threading

import torch

from . import _inductor
from ._library import library

_lock = threading.Lock()
_depth = 0


class _Enabled:
    """What enable() returns: leaving it as a context manager undoes that one enable()."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        disable()


def enable() -> _Enabled:
    """Routes torch.mm, bmm, matmul and linear, and their gradients, where a plan serves them.

    For the whole process, not for the thread alone. Calls add up; each needs its disable().
    """
    global _depth
    with _lock:
        if _depth == 0:
            # torch says once, on stderr, that an operator is overridden: what was asked for.
            library.gemmsmith_torch_set_routing(1)
            _inductor.install()
        _depth += 1
    return _Enabled()


def disable() -> None:
    """Undoes one enable()."""
    global _depth
    with _lock:
        if _depth == 0:
            return
        _depth -= 1
        if _depth == 0:
            _inductor.remove()
            library.gemmsmith_torch_set_routing(0)


def is_enabled() -> bool:
    return _depth > 0


def counts() -> dict:
    """How many products plans (or a fused epilogue) served, and how many went to torch."""
    return {
        "served": int(library.gemmsmith_torch_served()),
        "torch": int(library.gemmsmith_torch_passed()),
    }
