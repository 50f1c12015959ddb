"""enable(): torch's own products take tuned plans, in eager code and under torch.compile."""

import threading

import torch

from . import _captures, _inductor, _operators
from ._library import library

_lock = threading.Lock()
_depth = 0
_sums_route = None


def _routed(name, is_plain):
    planned = getattr(torch.ops.gemmsmith, "_" + name)
    # The form with out is the same kernel behind the same checks.
    torchs = getattr(torch.ops.aten, name).out

    def kernel(input, a, b, *, beta=1, alpha=1):
        if is_plain(input, a, b, beta, alpha):
            return planned(input, a, b, float(beta), float(alpha))
        out = torch.empty(0, dtype=a.dtype, device=input.device)
        return torchs(input, a, b, beta=beta, alpha=alpha, out=out)

    return kernel


def route_sums(key: str, planned: int) -> None:
    """torch's stable ABI cannot hand the scalars of addmm (1) and baddbmm (2) to C++, so these go through
    Python, which costs each call 13 us: more than a plan saves, but in a CUDA graph, which pays it once."""
    global _sums_route
    _sums_route = torch.library.Library("aten", "IMPL")
    if planned & 1:
        _sums_route.impl("addmm", _routed("addmm", _operators.is_plain_addmm), key)
    if planned & 2:
        _sums_route.impl("baddbmm", _routed("baddbmm", _operators.is_plain_baddbmm), key)


def unroute_sums() -> None:
    global _sums_route
    if _sums_route is not None:
        _sums_route._destroy()
    _sums_route = None


class _Enabled:
    """What enable() returns: leaving it as a context manager undoes that one enable()."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        disable()


def enable() -> _Enabled:
    """Routes torch.mm, bmm, matmul and linear, and their gradients, where a plan serves them; addmm and
    baddbmm (and linear with a bias) while a CUDA graph is captured.

    For the whole process, not for the thread alone. Calls add up; each needs its disable().
    """
    global _depth
    with _lock:
        if _depth == 0:
            # torch says once, on stderr, that an operator is overridden: what was asked for.
            library.gemmsmith_torch_set_routing(1)
            planned = library.gemmsmith_torch_planned_sums()
            if planned:
                _captures.install(lambda: route_sums("CUDA", planned), unroute_sums)
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
            _captures.remove()
            unroute_sums()
            library.gemmsmith_torch_set_routing(0)


def is_enabled() -> bool:
    return _depth > 0


def counts() -> dict:
    """How many products plans (or a fused epilogue) served, how many cuBLASLt did without torch between, and
    how many went to torch."""
    return {
        "served": int(library.gemmsmith_torch_served()),
        "cublaslt": int(library.gemmsmith_torch_by_library()),
        "torch": int(library.gemmsmith_torch_passed()),
    }
