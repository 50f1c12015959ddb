"""Loads the operators' library and tells torch about it. No CUDA call is made."""

import ctypes
import pathlib

_OLDEST = (2, 10)

try:
    import torch
except ImportError as error:
    raise ImportError(
        f"gemmsmith.torch needs torch {_OLDEST[0]}.{_OLDEST[1]} or newer, which this Python lacks: "
        f"pip install torch ({error})"
    ) from error

_version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
if _version < _OLDEST:
    raise ImportError(
        f"gemmsmith.torch needs torch {_OLDEST[0]}.{_OLDEST[1]} or newer (its stable ABI); this is "
        f"{torch.__version__}"
    )

_path = pathlib.Path(__file__).resolve().parent.parent / "lib" / "libgemmsmith_torch.so"
if not _path.exists():
    raise ImportError(f"{_path} is missing: gemmsmith was installed without its torch operators")
torch.ops.load_library(str(_path))


class AskedProduct(ctypes.Structure):
    """As in csrc/calls.h: strides of batch, rows and columns, in elements."""

    _fields_ = [
        *[(n, ctypes.c_int64) for n in ("is_bfloat16", "f32_output", "batch", "m", "n", "k")],
        ("a_strides", ctypes.c_int64 * 3),
        ("b_strides", ctypes.c_int64 * 3),
        ("epilogue", ctypes.c_int64),
    ]


# Of gemmsmithEpilogue_t.
BIAS = 4
ACTIVATIONS = {"none": 0, "relu": 2, "gelu_tanh": 32}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Tells ctypes what the functions are."""
    library.gemmsmith_torch_served.restype = ctypes.c_int64
    library.gemmsmith_torch_by_library.restype = ctypes.c_int64
    library.gemmsmith_torch_passed.restype = ctypes.c_int64
    library.gemmsmith_torch_plans_identity.restype = ctypes.c_uint64
    library.gemmsmith_torch_forecast.argtypes = [
        ctypes.POINTER(AskedProduct),
        ctypes.c_float,
        ctypes.c_double * 2,
    ]
    return library


library = declare(ctypes.CDLL(str(_path)))
