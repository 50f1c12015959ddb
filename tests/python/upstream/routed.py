"""A plugin of pytest for torch's own tests: keeps those of matrix products, and routes them where
GEMMSMITH_ROUTE says so: `gpu` by enable(); a file's name by that library, the operators compiled for the
CPU, which run on a fake driver."""

import os
import re

# Of test_linalg.py, test_matmul_cuda.py and test_ops.py.
_PRODUCT = re.compile(r"(?:^|_)(?:addmm|b?mm|baddbmm|matmul|linear|addbmm|multi_dot)(?:_|$)")


def pytest_configure(config):
    route = os.environ.get("GEMMSMITH_ROUTE", "")
    if not route:
        return
    import gemmsmith.torch
    from gemmsmith.torch import _library, _operators, _routing

    if route == "gpu":
        gemmsmith.torch.enable()
        _routing.unroute_sums()
        _routing.route_sums("CUDA", 3)  # also where no plan could gain by it
        return
    import ctypes

    import torch

    torch.ops.load_library(route)
    _operators._device_types.add("cpu")
    _library.declare(ctypes.CDLL(route)).gemmsmith_torch_set_routing(1)
    _routing.route_sums("CPU", 3)


def pytest_collection_modifyitems(config, items):
    kept = [item for item in items if _PRODUCT.search(item.name)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
