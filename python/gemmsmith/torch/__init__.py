"""Tuned matrix products in PyTorch.

    import torch, gemmsmith.torch
    with gemmsmith.torch.enable():          # or enable() once, for the whole program
        y = model(x)

Products in f16 and bf16 on a GPU that a plan serves are launched by it; everything else is torch's
own, untouched. Plans come from GEMMSMITH_PLANS, else from the folder gemmsmith/plans of
XDG_DATA_HOME. Importing starts nothing on the GPU.
"""

from ._operators import addmm, addmm_activation, baddbmm, bmm, linear, mm
from ._routing import counts, disable, enable, is_enabled

__all__ = [
    "addmm",
    "addmm_activation",
    "baddbmm",
    "bmm",
    "counts",
    "disable",
    "enable",
    "is_enabled",
    "linear",
    "mm",
]
