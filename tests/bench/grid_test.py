"""bench/grid/run.sh on a replayed H200: what it writes and prints, and that stopped it goes on.

    grid_test.py PROGRAM
"""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
RECORDINGS = TREE / "data/recordings/h200"
PROGRAM = ""
SHAPES = "m,n,k\n64,64,64\n512,512,512\n4096,4096,4096\n"


class Grid(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name) / "out"
        self.shapes = Path(self.folder.name) / "few.csv"
        self.shapes.write_text(SHAPES)

    def command(self, *options, recording="grid1000_f16_f32_tn"):
        return [TREE / "bench/grid/run.sh", PROGRAM, self.out, self.shapes, "--device",
                f"recorded:{RECORDINGS / recording}.csv.zst", *options]

    def start(self, command, shapes_in_a_slice):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("GEMMSMITH_")}
        environment["SLICE"] = str(shapes_in_a_slice)
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def run_grid(self, command, shapes_in_a_slice=2):
        process = self.start(command, shapes_in_a_slice)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    def board(self):
        with open(self.out / "scoreboard.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_writes_the_table_and_ends_with_it(self):
        code, out, err = self.run_grid(self.command())
        self.assertEqual(code, 0, err)
        self.assertIn("grid: slice 2 of 2: done in ", err)
        self.assertIn("| all | 3 |", (self.out / "scoreboard.md").read_text())
        self.assertEqual(len(self.board()), 3)
        self.assertTrue(all(float(row["impossible_floor_us"]) >= 0.4 for row in self.board()))
        for name in ("few_f16_f32_tn.csv.zst", "few_f16_f32_tn.json"):
            self.assertTrue((self.out / name).exists(), name)
        self.assertRegex(out, r"(?s)^Against lt_tuned\n.*\nall +3 .*\n\n"
                              r"raw, all: \d\.\d{3} of 2 shapes, bar 0\.95: met\n"
                              r"(.*\n)+served, all: \d\.\d{3} of 3 shapes, bar 1\.07: met\n$")
        pictures = subprocess.run([sys.executable, "-c", "import matplotlib"],
                                  stderr=subprocess.DEVNULL).returncode == 0
        self.assertEqual("matplotlib" in err, not pictures)
        for name in ("scoreboard.svg", "floor.svg"):
            self.assertEqual((self.out / name).exists(), pictures, name)

    def test_interrupted_it_says_how_to_go_on_and_does(self):
        process = self.start(self.command(), shapes_in_a_slice=1)
        err = ""
        while "slice 1 of 3: done" not in err:
            line = process.stderr.readline()
            self.assertTrue(line, err)
            err += line
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to all
        rest = process.communicate(timeout=240)[1]
        self.assertEqual(process.returncode, 130, err + rest)
        self.assertIn(f"grid: stopped; what was measured is kept in {self.out}/grid.db", rest)
        self.assertIn(" ".join(map(str, self.command())), rest)
        code, _, err = self.run_grid(self.command(), shapes_in_a_slice=1)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.board()), 3)

    def test_options_are_the_tuners_and_name_the_recording(self):
        self.shapes.write_text("m,n,k\n64,64,256\n")
        command = self.command("--layout=nn", recording="sixth1000_f16_f32_nn")
        code, _, err = self.run_grid(command)
        self.assertEqual(code, 0, err)
        self.assertTrue((self.out / "few_f16_f32_nn.csv.zst").exists())
        self.assertEqual([row["layout"] for row in self.board()], ["nn"])

    def test_shapes_that_fail_are_named_and_the_rest_goes_on(self):
        self.shapes.write_text("m,n,k\n64,64,64\n67,67,67\n")
        code, _, err = self.run_grid(self.command(), shapes_in_a_slice=1)
        self.assertEqual(code, 1, err)
        self.assertIn("failed: 67_67_67", err)
        self.assertEqual([row["m"] for row in self.board()], ["64"])

    def test_without_shapes_or_program_it_says_what_to_type(self):
        for arguments in ([], [PROGRAM]):
            result = subprocess.run([TREE / "bench/grid/run.sh", *arguments], capture_output=True,
                                    text=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("usage: bench/grid/run.sh PROGRAM OUT [SHAPES] [OPTION...]", result.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
