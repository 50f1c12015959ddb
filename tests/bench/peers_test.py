"""peers_test.py -- the outside searchers of bench/search keep the rules that the peers keep: the same
start, nothing asked twice, the whole budget, the same search for the same seed. Skipped as a whole
where there is no numpy, and in part where there is no kernel_tuner."""

import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SKIPPED = 77  # as ctest is told
if importlib.util.find_spec("numpy") is None:
    print("no numpy: nothing tested")
    sys.exit(SKIPPED)

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench/search"))
import compare
import kernel_tuner_peers
import nvmmh_peer
import peers
import space

HAS_KERNEL_TUNER = importlib.util.find_spec("kernel_tuner") is not None
NAMES = ["is_ws", "is_mma", "is_vendor", "log_tile_m", "log_tile_n", "log_tile_k", "stages",
         "log_cluster_m", "log_cluster_n", "log_split", "lt_other", "log_model"]
BUDGET = 40


def made_up_shape():
    """Tiles of 16 to 256 by 16 to 256 in two depths; large ones are best, the model likes small m."""
    shape = space.Shape("512_512_512", 7)
    for m in range(4, 9):
        for n in range(4, 9):
            for k in (5, 6):
                shape.configs.append(f"{m}_{n}_{k}")
                shape.values.append((m + n) / 20 - k / 100)
                shape.repeats.append(np.array([0.0, 0.01, -0.01]))
                shape.features.append([1, 0, 0, m, n, k, 4, 0, 0, 0, 0, 10 * m + n + k / 10])
    return shape.finish()


class KernelTunerTest(unittest.TestCase):
    def asked(self, name, seed, **settings):
        shape = made_up_shape()
        context = peers.Context([shape], NAMES)
        rng = compare.rng_of(name, seed)
        seen = shape.drawn(rng)
        settings = settings or kernel_tuner_peers.SETTINGS[name][0]
        return context, shape, kernel_tuner_peers.PEERS[name](context, shape, seen, rng, BUDGET,
                                                              **settings)

    @unittest.skipUnless(HAS_KERNEL_TUNER, "no kernel_tuner")
    def test_each_strategy_with_each_setting_spends_the_budget_on_different_configs(self):
        for name, choices in kernel_tuner_peers.SETTINGS.items():
            for settings in choices:
                with self.subTest(name=name, settings=settings):
                    _, _, asked = self.asked(name, 1, **settings)
                    self.assertEqual((len(asked), len(set(asked))), (BUDGET, BUDGET))

    @unittest.skipUnless(HAS_KERNEL_TUNER, "no kernel_tuner")
    def test_all_but_random_sampling_start_from_the_analytic_favourite(self):
        for name in set(kernel_tuner_peers.SETTINGS) - {"kt_random_sample"}:
            with self.subTest(name=name):
                context, shape, asked = self.asked(name, 1)
                self.assertEqual(asked[0], context.analytic_order(shape)[0])

    @unittest.skipUnless(HAS_KERNEL_TUNER, "no kernel_tuner")
    def test_a_seed_is_a_search(self):
        # Bayesian optimisation draws from a generator that Kernel Tuner does not let us seed.
        for name in set(kernel_tuner_peers.SETTINGS) - {"kt_bayes_opt"}:
            with self.subTest(name=name):
                self.assertEqual(self.asked(name, 1)[2], self.asked(name, 1)[2])
                self.assertNotEqual(self.asked(name, 1)[2], self.asked(name, 2)[2])


class NvmmhTest(unittest.TestCase):
    ANSWERS = np.array([[7, 8, 6, 0, 0, 0, 0.5],    # recorded
                        [7, 8.4, 6, 0, 0, 0, 0.5],  # near the same, so the next nearest in n
                        [6, 6, 6, 1, 0, 0, 0.5]])   # in a cluster, as nothing recorded is

    def choices(self, exact):
        shape = made_up_shape()
        context = peers.Context([shape], NAMES)
        with mock.patch.object(nvmmh_peer, "answers", return_value=self.ANSWERS):
            chosen = nvmmh_peer.choices(context, shape, exact)
        return [shape.configs[i] for i in chosen]

    def test_answers_go_to_the_nearest_config_that_was_not_asked(self):
        self.assertEqual(self.choices(exact=False), ["7_8_6", "6_8_6", "6_6_6"])

    def test_a_counterpart_has_the_same_tile_cluster_and_split(self):
        self.assertEqual(self.choices(exact=True), ["7_8_6"])


class ResultsTest(unittest.TestCase):
    def test_searchers_that_were_not_run_keep_their_rows(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(compare, "HERE", pathlib.Path(folder)):
            results = pathlib.Path(folder) / "results"
            results.mkdir()
            old = [["random:0/5", name, "found@1", "0.1", "0", "1"] for name in ("knn", "local")]
            compare.write_results("random:0/5", old, {"knn": {"neighbours": 2}, "local": {}})
            new = [["random:0/5", "local", "found@1", "0.9", "0", "1"]]
            compare.write_results("random:0/5", new, {"local": {"near": 4}})
            self.assertEqual((results / "random_0of5.csv").read_text().splitlines(),
                             ["split,searcher,measure,value,low,high",
                              "random:0/5,knn,found@1,0.1,0,1", "random:0/5,local,found@1,0.9,0,1"])
            self.assertEqual(json.loads((results / "random_0of5_settings.json").read_text()),
                             {"knn": {"neighbours": 2}, "local": {"near": 4}})


if __name__ == "__main__":
    unittest.main()
