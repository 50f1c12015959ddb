"""export_t4_test.py -- what bench/search/export_t4.py writes: files that their schemas accept, that say
what was recorded, and that Kernel Tuner replays. Skipped as a whole where there is no numpy, and in
part where there is no kernel_tuner."""

import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

SKIPPED = 77  # as ctest is told
if importlib.util.find_spec("numpy") is None:
    print("no numpy: nothing tested")
    sys.exit(SKIPPED)

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench/search"))
import export_t4
import parameters
import space

HAS_KERNEL_TUNER = importlib.util.find_spec("kernel_tuner") is not None

SPACE = """\
m,n,k,split_hash,config,value,repeats,log_m,is_ws,is_mma,is_vendor,log_tile_m,log_tile_n,stages,log_group,lt_other
64,128,256,7,sm90_ws:m128,0.2,0;0.01,6,1,0,0,7,6.585,4,-1,0
64,128,256,7,sm90_ws:m64,0.1,0;0.01,6,1,0,0,6,6.585,4,0,0
64,128,256,7,cublaslt:t20,0,0;0.01,6,0,0,1,7,7,5,0,0
"""
RECORDING = """\
m,n,k,batch,type,acc,layout,kind,config,status,setting,cache,stage,run,median_us,low_us,high_us,ratio,ratio_low,ratio_high,repeats_us,compile_s
64,128,256,1,f16,f32,tn,kernel,sm90_ws:m128,ok,chained,cold,screen,20261201T225540.210Z-8bf4-tune,2,2,2,1.25,1,1,2;2.01;1.99,0.661
64,128,256,1,f16,f32,tn,kernel,sm90_ws:m128,ok,foreign,cold,screen,20261201T225540.210Z-8bf4-tune,9,9,9,1,1,1,9,0.661
64,128,256,1,f16,f32,tn,kernel,sm90_ws:m128,ok,chained,cold,final,20261201T225540.210Z-8bf4-tune,8,8,8,1,1,1,8,0.661
64,128,256,1,f16,f32,tn,kernel,sm90_ws:m64,ok,chained,cold,screen,20261201T225540.210Z-8bf4-tune,2.5,2,3,1.1,1,1,2.5,0.5
64,128,256,1,f16,f32,tn,vendor,cublaslt:t20,ok,chained,cold,screen,20261201T225540.210Z-8bf4-tune,3,3,3,1,1,1,3,0
"""


class ExportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        table = self.folder / "space.csv"
        table.write_text(SPACE)
        (self.shape,), self.names = space.read_space(table)
        export_t4.export(self.shape, self.names, export_t4.read_screenings(RECORDING.splitlines()),
                         "f16_f32_tn", "NVIDIA H200", self.folder)

    def read(self, kind):
        return json.loads((self.folder / f"64_128_256.{kind}.json").read_text())

    def test_parameters_are_sizes_and_only_those_that_vary(self):
        points = parameters.Points(self.shape, self.names)
        self.assertEqual(points.values, {"family": [0, 2], "tile_m": [64, 128],
                                         "tile_n": [96, 128], "stages": [4, 5], "group": [4, 8]})
        self.assertEqual(points.points[0], (0, 128, 96, 4, 4))

    def test_two_configs_with_the_same_parameters_are_refused(self):
        (self.folder / "twice.csv").write_text(SPACE + SPACE.splitlines()[1] + "\n")
        (shape,), names = space.read_space(self.folder / "twice.csv")
        with self.assertRaisesRegex(ValueError, "64_128_256: two recorded configs"):
            parameters.Points(shape, names)

    def test_results_are_the_screenings_back_to_back(self):
        results = self.read("t4")["results"]
        times = [{x["name"]: x["value"] for x in result["measurements"]} for result in results]
        self.assertEqual([x["config"] for x in times],
                         ["sm90_ws:m128", "sm90_ws:m64", "cublaslt:t20"])
        self.assertEqual([x["time"] for x in times], [0.002, 0.0025, 0.003])
        self.assertEqual(times[0]["speedup_over_tuned_cublaslt"], 1.25)
        self.assertEqual(results[0]["times"],
                         {"compilation_time": 661.0, "runtimes": [0.002, 0.00201, 0.00199]})
        self.assertEqual(results[0]["timestamp"], "2026-12-01T22:55:40.210000+00:00")

    def test_the_condition_holds_for_the_recorded_points_and_no_other(self):
        text = self.read("t1")
        condition = text["ConfigurationSpace"]["Conditions"][0]["Expression"]
        point = self.read("t4")["results"][0]["configuration"]
        self.assertTrue(eval(condition, {}, point))
        self.assertFalse(eval(condition, {}, {**point, "stages": 5}))

    @unittest.skipUnless(HAS_KERNEL_TUNER, "no kernel_tuner")
    def test_the_published_schemas_accept_both(self):
        import jsonschema
        from kernel_tuner import file_utils

        files = {kind: self.read(kind) for kind in ("t1", "t4")}
        export_t4.validate(files)
        self.assertEqual(export_t4.SCHEMA_VERSION, file_utils.output_file_schema("results")[0])
        del files["t4"]["results"][0]["invalidity"]
        with self.assertRaises(jsonschema.ValidationError):
            export_t4.validate(files)

    @unittest.skipUnless(HAS_KERNEL_TUNER, "no kernel_tuner")
    def test_kernel_tuner_replays_the_cache(self):
        from kernel_tuner import tune_cache

        results, _ = tune_cache(str(self.folder / "64_128_256.cache.json"), strategy="brute_force",
                                quiet=True)
        self.assertEqual(sorted((x["config"], x["time"]) for x in results),
                         [("cublaslt:t20", 0.003), ("sm90_ws:m128", 0.002),
                          ("sm90_ws:m64", 0.0025)])


if __name__ == "__main__":
    unittest.main()
