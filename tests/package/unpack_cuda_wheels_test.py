"""unpack_cuda_wheels_test.py -- made-up wheels become a toolkit: headers, NVRTC, CUPTI and
the static runtime under include/ and lib/, nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "unpack_cuda_wheels.py"


def run(*arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, check=False
    ).returncode


class UnpackTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.wheels = pathlib.Path(folder.name) / "wheels"
        self.toolkit = pathlib.Path(folder.name) / "cuda"
        self.wheels.mkdir()

    def make_wheel(self, name, files):
        with zipfile.ZipFile(self.wheels / name, "w") as wheel:
            for path in files:
                wheel.writestr(path, "text of " + path)

    def test_takes_headers_and_libraries_only(self):
        self.make_wheel(
            "a.whl",
            [
                "nvidia/cu13/include/nvrtc.h",
                "nvidia/cu13/include/crt/host_defines.h",
                "nvidia/cu13/lib/libnvrtc.so.13",
                "nvidia/cu13/lib/libnvrtc-builtins.so.13.0",
                "nvidia/cu13/lib/libnvrtc.alt.so.13",
                "nvidia/cu13/lib/libcublasLt.so.13",
                "nvidia/cu13/lib/libcupti.so.13",
                "nvidia/cu13/lib/libnvperf_host.so",
                "nvidia/cu13/lib/libnvperf_target.so",
                "a.dist-info/RECORD",
            ],
        )
        self.make_wheel("b.whl", ["nvidia/cu13/lib/libcudart_static.a"])
        self.assertEqual(run(self.wheels, self.toolkit), 0)
        found = {p.relative_to(self.toolkit).as_posix() for p in self.toolkit.rglob("*.*")}
        self.assertEqual(
            found,
            {
                "include/nvrtc.h",
                "include/crt/host_defines.h",
                "lib/libnvrtc.so.13",
                "lib/libnvrtc-builtins.so.13.0",
                "lib/libcupti.so.13",
                "lib/libnvperf_host.so",
                "lib/libcudart_static.a",
            },
        )

    def test_no_wheels_is_a_failure(self):
        self.assertEqual(run(self.wheels, self.toolkit), 3)
        self.assertEqual(run(self.wheels), 2)


if __name__ == "__main__":
    unittest.main()
