"""enable(): torch's own products take tuned plans, in eager code and under torch.compile."""

import threading

import torch

from . import _inductor, _operators
from ._library import library

_lock = threading.Lock()
_depth = 0
_addmm_route = None


def _routed_addmm(input, a, b, *, beta=1, alpha=1):
    if _operators.is_plain_addmm(input, a, b, beta, alpha):
        return torch.ops.gemmsmith._addmm(input, a, b, float(beta), float(alpha))
    # The form with out is the same kernel behind the same checks.
    out = torch.empty(0, dtype=a.dtype, device=input.device)
    return torch.ops.aten.addmm.out(input, a, b, beta=beta, alpha=alpha, out=out)


def route_addmm(key: str) -> None:
    """torch's stable ABI cannot hand addmm's scalars to C++, so this goes through Python, which costs each
    call of addmm some microseconds: done only where a plan table has plans that could gain by it."""
    global _addmm_route
    _addmm_route = torch.library.Library("aten", "IMPL")
    _addmm_route.impl("addmm", _routed_addmm, key)


def unroute_addmm() -> None:
    global _addmm_route
    if _addmm_route is not None:
        _addmm_route._destroy()
    _addmm_route = None


class _Enabled:
    """What enable() returns: leaving it as a context manager undoes that one enable()."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        disable()


def enable() -> _Enabled:
    """Routes torch.mm, bmm, addmm, matmul and linear, and their gradients, where a plan serves them.

    For the whole process, not for the thread alone. Calls add up; each needs its disable().
    """
    global _depth
    with _lock:
        if _depth == 0:
            # torch says once, on stderr, that an operator is overridden: what was asked for.
            library.gemmsmith_torch_set_routing(1)
            if library.gemmsmith_torch_has_addmm_plans():
                route_addmm("CUDA")
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
            unroute_addmm()
            library.gemmsmith_torch_set_routing(0)


def is_enabled() -> bool:
    return _depth > 0


def counts() -> dict:
    """How many products plans (or a fused epilogue) served, and how many went to torch."""
    return {
        "served": int(library.gemmsmith_torch_served()),
        "torch": int(library.gemmsmith_torch_passed()),
    }
