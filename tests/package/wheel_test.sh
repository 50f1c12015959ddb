#!/usr/bin/env bash
# wheel_test.sh PYTHON [FOLDER] -- `pip install .` as a user without a GPU does it, with the torch of PYTHON
# (which needs torch 2.10 or newer and scikit-build-core): one wheel is built in FOLDER (a temporary one)
# and installed into an empty environment. It must import, start nothing, compute on the CPU, and say at
# the first call what is missing. Takes some minutes, so it is no part of ctest.
set -euo pipefail
python=${1:?usage: tests/package/wheel_test.sh PYTHON [FOLDER]}
source=$(cd "$(dirname "$0")/../.." && pwd)
work=${2:-$(mktemp -d)}
mkdir -p "$work"
"$python" -m pip wheel -q --no-build-isolation --no-deps -C build-dir="$work/build" -w "$work" "$source"
wheel=$(ls "$work"/gemmsmith-*.whl)
case $wheel in *-py3-none-*) ;; *) echo "$wheel: not for every Python" && exit 1 ;; esac
rm -rf "$work/env"
"$python" -m venv "$work/env"
env_python=$work/env/bin/python
"$env_python" -m pip install -q --no-deps "$wheel"
cd "$work" # not the source tree, whose python/ would be found

# Without torch the C library still loads, and tells what it lacks when it is first asked to work.
"$env_python" - <<'PY'
import ctypes, gemmsmith, os
assert gemmsmith.__version__ and os.path.exists(gemmsmith.preload_path())
lib = ctypes.CDLL(gemmsmith.library_path())
lib.gemmsmithGetLastErrorString.restype = ctypes.c_char_p
handle = ctypes.c_void_p()
assert lib.gemmsmithCreate(ctypes.byref(handle)) == 0, "creating a handle needs no GPU"
assert lib.gemmsmithGetLastErrorString() == b""
class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32)] + [(n, ctypes.c_int32) for n in
        ("transa", "transb", "type", "compute_type", "pointer_mode")] + [(n, ctypes.c_int64) for n in
        ("m", "n", "k", "lda", "ldb", "ldc", "ldd")]
problem = Problem(ctypes.sizeof(Problem), 0, 0, 2, 68, 0, 8, 8, 8, 8, 8, 8, 8)
one, memory = ctypes.c_float(1), (ctypes.c_uint16 * 64)()
zero, out = ctypes.c_float(0), (ctypes.c_uint16 * 64)()
status = lib.gemmsmithMatmul(handle, ctypes.byref(problem), ctypes.byref(one), memory, memory,
                             ctypes.byref(zero), None, out, None, ctypes.c_size_t(0), None)
said = lib.gemmsmithGetLastErrorString().decode()
assert status == 1 and "libcuda.so.1" in said, (status, said)
assert lib.gemmsmithDestroy(handle) == 0
print("C library:", said)
try:
    import torch
except ImportError:
    try:
        import gemmsmith.torch
        raise SystemExit("gemmsmith.torch was imported without torch")
    except ImportError as error:
        print("without torch:", error)
PY

# torch itself is lent by PYTHON's environment; gemmsmith must be the installed one.
"$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent.parent)' \
  >"$("$env_python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
"$env_python" - "$work/env" <<'PY'
import sys, torch, gemmsmith.torch as gt
assert gt.__file__.startswith(sys.argv[1]), gt.__file__
assert not torch.cuda.is_initialized()
a = torch.randint(-2, 3, (4, 8)).half()
b = torch.randint(-2, 3, (8, 5)).half()
exact = (a.double() @ b.double()).half()
with gt.enable():
    assert torch.equal(a @ b, exact) and not torch.cuda.is_initialized()
    assert torch.equal(torch.compile(torch.mm, backend="eager")(a, b), exact)
    if not torch.cuda.is_available():
        try:
            torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
            raise SystemExit("there is no GPU, and yet it computed")
        except (RuntimeError, AssertionError) as error:
            print("torch:", str(error).splitlines()[0])
assert gt.counts() == {"served": 0, "torch": 0}
# Its own operators say that they are for GPUs.
try:
    gt.mm(a, b)
    raise SystemExit("gemmsmith.torch.mm computed on the CPU")
except NotImplementedError as error:
    print("gemmsmith.torch.mm:", str(error).splitlines()[0][:120])
print("torch", torch.__version__, "fine")
PY
echo "wheel: fine"
