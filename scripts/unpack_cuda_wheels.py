"""Lays out NVIDIA's wheels as a CUDA toolkit: unpack_cuda_wheels.py WHEELS_FOLDER TOOLKIT_FOLDER.

Takes the headers, NVRTC, CUPTI with its metric library and the static CUDA runtime; the rest of the
wheels (cuBLAS's libraries are hundreds of megabytes) is found on the machine at run time or not
needed.
"""

import pathlib
import re
import shutil
import sys
import zipfile

WANTED = re.compile(
    r"^nvidia/[^/]+/(include/.+|lib/"
    r"(lib(nvrtc|cupti)[^/]*\.so\.\d[\d.]*|libnvperf_host\.so|libcudart_static\.a))$"
)
# A second build of NVRTC for old C libraries, as large as the first.
UNWANTED = re.compile(r"\.alt\.")


def unpack(wheel: pathlib.Path, toolkit: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            match = WANTED.match(name)
            if not match or UNWANTED.search(name) or name.endswith("/"):
                continue
            target = toolkit / match.group(1)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    wheels = sorted(pathlib.Path(sys.argv[1]).glob("*.whl"))
    for wheel in wheels:
        unpack(wheel, pathlib.Path(sys.argv[2]))
    return 0 if wheels else 3


if __name__ == "__main__":
    sys.exit(main())
