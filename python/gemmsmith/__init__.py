"""gemmsmith: matrix products by kernels that were tuned for your GPU.

``import gemmsmith.torch`` brings the operators for PyTorch; this module alone needs nothing.
"""

import pathlib

__version__ = "0.1.0"

_lib = pathlib.Path(__file__).resolve().parent / "lib"


def library_path() -> str:
    """The C library, ``libgemmsmith.so``: for ctypes, or a C program that wants this copy."""
    return str(_lib / "libgemmsmith.so.0")


def preload_path() -> str:
    """The library for LD_PRELOAD, ``libgemmsmith_blas.so``."""
    return str(_lib / "libgemmsmith_blas.so")
