#include "search/tuner.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <string>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/interrupt.h"
#include "policy/tile_orders.h"
#include "search/compiler_knobs.h"
#include "search/fake_bench.h"
#include "search/selection.h"
#include "search/tuning.h"
#include "space/family.h"
#include "support/problems.h"

namespace gemmsmith {
namespace {

using test::problem_of;

// The value, where a test goes on only with one; by value, so that a loop may run over it.
template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().what);
  return std::move(*result);
}

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ("tuner_" + std::to_string(::getpid()) + "_" +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    options_.budget = 20;
    options_.vendor_budget = 6;
    options_.space_limit = 60;
  }
  void TearDown() override {
    set_interrupted(false);
    std::filesystem::remove_all(directory_);
  }

  Store open() { return Store::open(directory_ / "store.db", Store::Mode::kReadWrite).value(); }

  TuneSummary must_tune(FakeBench& bench, Store& store) {
    auto summary = tune(bench, store, problems_, options_);
    EXPECT_TRUE(summary) << (summary ? "" : summary.error().what);
    return *summary;
  }

  BenchFactory factory(FakeBench& like) {
    return [&like, this](int factor) -> Result<std::unique_ptr<Bench>> {
      factors_.push_back(factor);
      auto bench = std::make_unique<FakeBench>();
      bench->ratio = like.ratio;
      return bench;
    };
  }

  std::filesystem::path directory_;
  std::vector<Problem> problems_ = {problem_of(256, 256, 512), problem_of(1024, 512, 256)};
  TunerOptions options_;
  std::vector<int> factors_;
};

TEST_F(TunerTest, MeasuresWhatItPromisesAndStoresAWinner) {
  FakeBench bench;
  Store store = open();
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kTuned), 2);
  const Environment environment = environment_of(bench);
  for (const Problem& problem : problems_) {
    int kernels = 0;
    int vendor = 0;
    int semifinal = 0;
    int baselines = 0;
    const auto rows = *store.measurements(environment, problem);
    for (const StoredMeasurement& row : rows) {
      const Measurement& m = row.measurement;
      if (m.stage == Stage::kScreen && m.setting == Setting::kForeign) {
        ++semifinal;
      } else if (m.stage == Stage::kScreen) {
        kernels += m.kind == Kind::kKernel;
        vendor += m.kind == Kind::kVendor;
      }
      if (m.kind != Kind::kKernel && m.kind != Kind::kVendor) ++baselines;
    }
    // The budget, and the twins of the four best where the strategy had not asked for them.
    EXPECT_GE(kernels, 20);
    EXPECT_LE(kernels, 20 + 4 * 3);
    EXPECT_EQ(vendor, 6);
    EXPECT_GE(semifinal, 8 + 4);
    EXPECT_LE(semifinal, 8 + 4 + 4);
    EXPECT_EQ(baselines, 4);
    const auto winner = *store.winner(environment, problem);
    ASSERT_TRUE(winner);
    EXPECT_GE(winner->chained_ratio, kLeastGain);
    EXPECT_EQ((*store.progress(environment, problem))->stage, "selected");
  }
  EXPECT_EQ(store.runs()->size(), 1U);
  EXPECT_EQ(store.runs()->at(0).conditions, R"({"clock_mhz":1980})");
}

// Where operands pass through L2 again and again, the favourites are tried in the orders that the
// L2 model expects to move much less memory; not where a product is too short for it to matter.
TEST_F(TunerTest, LongProductsAreTriedInQuieterOrders) {
  problems_ = {problem_of(12288, 16384, 4096)};
  options_.strategy = "ranked";
  options_.budget = 1;
  const Config noisy = *parse_config("sm90_ws:w2.pp1.m128.n192.ps1.g4", kernel_families());
  for (const double lt_tuned_us : {2400.0, 20.0}) {
    FakeBench bench;
    bench.lt_tuned_us = lt_tuned_us;
    const std::vector<Config> quieter =
        policy::quieter_orders(noisy, {problems_[0], bench.device().target}, 0.85, 2);
    ASSERT_EQ(quieter.size(), 2U);
    options_.candidates = [&](const Problem&) {
      std::vector<Config> offered = {noisy};
      offered.insert(offered.end(), quieter.begin(), quieter.end());
      return offered;
    };
    const std::string name = std::to_string(static_cast<int>(lt_tuned_us)) + ".db";
    Store store = Store::open(directory_ / name, Store::Mode::kReadWrite).value();
    must_tune(bench, store);
    std::set<std::string> screened;
    const auto rows = must(store.measurements(environment_of(bench), problems_[0]));
    for (const StoredMeasurement& row : rows)
      if (row.measurement.kind == Kind::kKernel && row.measurement.stage == Stage::kScreen)
        screened.insert(row.measurement.config);
    EXPECT_EQ(screened.count(to_text(noisy)), 1U);
    for (const Config& order : quieter)
      EXPECT_EQ(screened.count(to_text(order)), lt_tuned_us > 80 ? 1U : 0U) << to_text(order);
  }
}

// Programmatic dependent launch gains where a kernel follows itself and costs elsewhere: whoever is
// best back to back is also seen without it (or with it), in both settings.
TEST_F(TunerTest, TheBestIsTriedWithAndWithoutProgrammaticLaunch) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  for (const Problem& problem : problems_) {
    std::map<std::string, double> chained;
    std::set<std::string> foreign;
    const auto rows = *store.measurements(environment_of(bench), problem);
    for (const StoredMeasurement& row : rows) {
      const Measurement& m = row.measurement;
      if (m.kind != Kind::kKernel || m.stage != Stage::kScreen) continue;
      if (m.setting == Setting::kChained) chained[m.config] = m.ratio;
      if (m.setting == Setting::kForeign) foreign.insert(m.config);
    }
    const auto best =
        std::max_element(chained.begin(), chained.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    Config twin = *parse_config(best->first, kernel_families());
    twin.set("pdl", 1 - twin.at("pdl"));
    twin.set("prefetch", 0);
    EXPECT_EQ(chained.count(to_text(twin)), 1U) << best->first;
    EXPECT_EQ(foreign.count(best->first), 1U);
    EXPECT_EQ(foreign.count(to_text(twin)), 1U);
  }
}

TEST_F(TunerTest, ASecondRunMeasuresNothing) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  FakeBench again;
  EXPECT_EQ(must_tune(again, store).count(Outcome::kAlreadyDone), 2);
  EXPECT_TRUE(again.screened.empty());
  EXPECT_EQ(again.baseline_calls, 0);
}

TEST_F(TunerTest, ALargerBudgetOnlyMeasuresTheRest) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  const auto first = bench.screened;
  options_.budget = 32;
  must_tune(bench, store);
  // Twelve more of each problem; the first run's twins may be among them.
  EXPECT_GE(bench.screened.size(), first.size() + 2 * (12 - 4));
  for (const auto& [config, times] : bench.screened) EXPECT_EQ(times, 1) << config;
}

// Stopped after any number of bench calls, a new process ends where an undisturbed one does.
TEST_F(TunerTest, ResumesAfterEveryPossibleStopWithTheSameResult) {
  options_.compiler_knobs = true;
  FakeBench undisturbed;
  Store reference = *Store::open(directory_ / "reference.db", Store::Mode::kReadWrite);
  must_tune(undisturbed, reference);
  const Environment environment = environment_of(undisturbed);

  for (int stop_after = 0; stop_after < 26; ++stop_after) {
    const auto path = directory_ / ("stop" + std::to_string(stop_after) + ".db");
    std::map<std::string, int> screened;
    std::map<std::string, int> semifinal;
    {
      FakeBench bench;
      int calls = 0;
      bench.before = [&](const Problem&, const char*) -> Result<void> {
        if (calls++ == stop_after) set_interrupted(true);
        return {};
      };
      Store store = *Store::open(path, Store::Mode::kReadWrite);
      must_tune(bench, store);
      screened = bench.screened;
      semifinal = bench.semifinal;
    }
    set_interrupted(false);
    FakeBench bench;
    Store store = *Store::open(path, Store::Mode::kReadWrite);
    must_tune(bench, store);
    for (const auto& [config, times] : bench.screened)
      EXPECT_EQ(screened.count(config), 0U) << "measured twice: " << config;
    for (const auto& [config, times] : bench.semifinal)
      EXPECT_EQ(semifinal.count(config), 0U) << "measured twice: " << config;
    for (const Problem& problem : problems_)
      EXPECT_EQ((*store.winner(environment, problem))->config,
                (*reference.winner(environment, problem))->config)
          << stop_after;
  }
}

TEST_F(TunerTest, AnInterruptKeepsWhatWasMeasured) {
  FakeBench bench;
  bench.before = [&](const Problem&, const char* call) -> Result<void> {
    if (std::string(call) == "screen") set_interrupted(true);
    return {};
  };
  Store store = open();
  const TuneSummary summary = must_tune(bench, store);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_TRUE(summary.problems.empty());
  EXPECT_EQ(store.measurements(environment_of(bench), problems_[0])->size(), 4U + 8U);
  EXPECT_FALSE(*store.winner(environment_of(bench), problems_[0]));
}

// One problem that cannot be measured costs only itself.
TEST_F(TunerTest, AFailingProblemIsReportedAndTheRestIsTuned) {
  FakeBench bench;
  bench.before = [&](const Problem& problem, const char*) -> Result<void> {
    if (problem.m == 256) return fail(ErrorCode::kDevice, "the device fell over");
    return {};
  };
  Store store = open();
  const TuneSummary summary = must_tune(bench, store);
  ASSERT_EQ(summary.problems.size(), 2U);
  EXPECT_EQ(summary.problems[0].outcome, Outcome::kFailed);
  EXPECT_EQ(summary.problems[0].error, "the device fell over");
  EXPECT_EQ(summary.problems[1].outcome, Outcome::kTuned);
  // The failed one is free for the next run.
  FakeBench well;
  EXPECT_EQ(must_tune(well, store).count(Outcome::kTuned), 1);
}

TEST_F(TunerTest, AFailingEnvironmentStopsEverything) {
  FakeBench bench;
  bench.before = [&](const Problem&, const char*) -> Result<void> {
    return fail(ErrorCode::kEnvironment, "the driver is gone");
  };
  Store store = open();
  const auto summary = tune(bench, store, problems_, options_);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().what, "the driver is gone");
}

TEST_F(TunerTest, WrongCandidatesNeverWin) {
  FakeBench bench;
  Store store = open();
  bench.ratio = [](const Problem&, const std::string& config, Stage, Setting) {
    return config.rfind("sm80_mma", 0) == 0 ? 1.5 : 1.1;
  };
  options_.candidates = [](const Problem&) {
    return std::vector<Config>{*parse_config("sm80_mma", kernel_families()),
                               *parse_config("sm90_ws", kernel_families())};
  };
  bench.broken = {"sm80_mma"};
  must_tune(bench, store);
  EXPECT_EQ((*store.winner(environment_of(bench), problems_[0]))->config.substr(0, 7), "sm90_ws");
}

// Six of ours look best back to back and lose between foreign kernels; a seventh wins in both.
TEST_F(TunerTest, TheSemifinalFindsThePlanThatWinsInBothSettings) {
  FakeBench bench;
  std::vector<std::string> seven;
  for (const Config& config :
       candidate_configs(problems_[0], *known_target("h200"), TunerOptions{}).configs)
    if (seven.size() < 7) seven.push_back(to_text(config));
  const std::string steady = seven.back();
  options_.candidates = [&](const Problem&) {
    std::vector<Config> configs;
    for (const std::string& text : seven) configs.push_back(*parse_config(text, kernel_families()));
    return configs;
  };
  problems_.resize(1);
  bench.ratio = [&](const Problem&, const std::string& config, Stage, Setting setting) {
    if (config == steady) return setting == Setting::kChained ? 1.06 : 1.05;
    if (config.rfind("cublaslt", 0) == 0) return 0.9;
    return setting == Setting::kChained ? 1.3 : 0.95;
  };
  Store store = open();
  must_tune(bench, store);
  const auto winner = *store.winner(environment_of(bench), problems_[0]);
  EXPECT_EQ(winner->config, steady);
  EXPECT_EQ(winner->foreign_ratio, 1.05);
  // The best back to back was timed in full as well.
  bool flattered = false;
  for (const StoredMeasurement& row : must(store.measurements(environment_of(bench), problems_[0])))
    flattered =
        flattered || (row.measurement.stage == Stage::kFinal && row.measurement.ratio == 1.3);
  EXPECT_TRUE(flattered);
}

// The config without its compiler knobs, and whether it had any turned.
std::pair<std::string, bool> without_knobs(const std::string& text) {
  Config config = *parse_config(text, kernel_families());
  const bool had = !has_default_knobs(config);
  for (std::size_t i = 0; i < config.values.size(); ++i)
    if (config.family->parameters[i].finalists_only)
      config.values[i] = config.family->parameters[i].default_value;
  return {to_text(config), had};
}

// Screened kernels with a turned knob: their texts, each with the config it varies.
std::map<std::string, std::string> turned(const Store& store, const Environment& environment,
                                          const Problem& problem) {
  std::map<std::string, std::string> found;
  for (const StoredMeasurement& row : must(store.measurements(environment, problem))) {
    if (row.measurement.kind != Kind::kKernel || row.measurement.stage != Stage::kScreen) continue;
    const auto [plain, had] = without_knobs(row.measurement.config);
    if (had) found[row.measurement.config] = plain;
  }
  return found;
}

// A knob that gains: every kernel of ours is 1.1 times as fast with usage level 8, 1.05 with 3.
double ratio_with_knobs(const Problem& problem, const std::string& config, Stage stage,
                        Setting setting) {
  const double plain = FakeBench().ratio(problem, without_knobs(config).first, stage, setting);
  if (config.find(".rul8") != std::string::npos) return plain * 1.1;
  if (config.find(".rul3") != std::string::npos) return plain * 1.05;
  return plain * (without_knobs(config).second ? 0.9 : 1);
}

TEST_F(TunerTest, CompilerKnobsAreTriedOnTheBestOfOursOnlyWhenAsked) {
  FakeBench bench;
  options_.vendor_budget = 0;
  bench.ratio = ratio_with_knobs;
  Store store = open();
  must_tune(bench, store);
  const Environment environment = environment_of(bench);
  std::vector<std::string> plain;
  for (const Problem& problem : problems_) {
    EXPECT_TRUE(turned(store, environment, problem).empty());
    plain.push_back((*store.winner(environment, problem))->config);
  }

  // The same store, now with knobs: only they are measured, and only around the winner.
  bench.screened.clear();
  bench.baseline_calls = bench.final_calls = 0;
  options_.compiler_knobs = true;
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kTuned), 2);
  EXPECT_EQ(bench.baseline_calls, 0);
  EXPECT_EQ(bench.final_calls, 2);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    const auto variants = turned(store, environment, problems_[i]);
    EXPECT_GE(variants.size(), 10U);
    for (const auto& [text, base] : variants) {
      EXPECT_EQ(base, plain[i]);
      EXPECT_EQ(bench.screened.count(shape_name(problems_[i]) + " " + text), 1U);
    }
    const auto winner = *store.winner(environment, problems_[i]);
    EXPECT_EQ(without_knobs(winner->config).first, plain[i]);
    EXPECT_NE(winner->config.find(".rul8"), std::string::npos) << winner->config;
  }
  EXPECT_EQ(bench.screened.size(), turned(store, environment, problems_[0]).size() +
                                       turned(store, environment, problems_[1]).size());

  // Tried once, they are not tried again.
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kAlreadyDone), 2);
}

// As with a recording that has no row of theirs.
TEST_F(TunerTest, CompilerKnobsThatFailLeaveTheWinner) {
  FakeBench bench;
  bench.ratio = ratio_with_knobs;
  for (const Problem& problem : problems_)
    for (const Config& config : candidate_configs(problem, bench.device().target, options_).configs)
      for (const Config& variant : legal_knob_variants(config, problem, bench.device().target))
        for (const int pdl : {0, 1}) {
          Config twin = variant;
          twin.set("pdl", pdl);
          for (const int prefetch : {0, 1, 2}) {
            twin.set("prefetch", prefetch);
            bench.broken.insert(to_text(twin));
          }
        }
  options_.compiler_knobs = true;
  options_.vendor_budget = 0;
  Store store = open();
  must_tune(bench, store);
  for (const Problem& problem : problems_) {
    EXPECT_FALSE(turned(store, environment_of(bench), problem).empty());
    const auto winner = *store.winner(environment_of(bench), problem);
    EXPECT_FALSE(without_knobs(winner->config).second) << winner->config;
  }
  EXPECT_EQ(bench.final_calls, 2) << "one for each problem: no variant deserved pairs";
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kAlreadyDone), 2);
}

// The re-test looks at the last run's finals: those must hold the whole choice.
TEST_F(TunerTest, CompilerKnobsStandBesideTheFinalsTheyVary) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  options_.compiler_knobs = true;
  must_tune(bench, store);
  for (const Problem& problem : problems_) {
    const auto rows = *store.measurements(environment_of(bench), problem);
    bool has_plain = false;
    bool has_turned = false;
    bool has_vendor = false;
    for (const Measurement& row : measurements_of(rows, last_final_run(rows, RunPurpose::kTune))) {
      if (row.stage != Stage::kFinal) continue;
      has_vendor |= row.kind == Kind::kVendor;
      if (row.kind != Kind::kKernel) continue;
      (without_knobs(row.config).second ? has_turned : has_plain) = true;
    }
    EXPECT_TRUE(has_plain && has_turned && has_vendor);
  }
}

TEST_F(TunerTest, LongProblemsNeedNoSemifinal) {
  FakeBench bench;
  bench.lt_tuned_us = 1500;
  Store store = open();
  must_tune(bench, store);
  EXPECT_TRUE(bench.semifinal.empty());
  EXPECT_EQ(bench.final_calls, 2);
}

TEST_F(TunerTest, ACandidateThatFailsTheSemifinalIsNoFinalist) {
  FakeBench bench;
  bench.broken_between = {"sm80_mma"};
  options_.candidates = [](const Problem&) {
    return std::vector<Config>{*parse_config("sm80_mma", kernel_families()),
                               *parse_config("sm90_ws", kernel_families())};
  };
  bench.ratio = [](const Problem&, const std::string& config, Stage, Setting) {
    return config.rfind("sm80_mma", 0) == 0 ? 1.5 : 1.1;
  };
  Store store = open();
  must_tune(bench, store);
  EXPECT_EQ((*store.winner(environment_of(bench), problems_[0]))->config.substr(0, 7), "sm90_ws");
}

TEST_F(TunerTest, WhereNothingWinsLtTunedServes) {
  FakeBench bench;
  bench.ratio = [](const Problem&, const std::string&, Stage, Setting) { return 1.0; };
  Store store = open();
  must_tune(bench, store);
  const auto winner = *store.winner(environment_of(bench), problems_[0]);
  EXPECT_EQ(winner->source, WinnerSource::kLtTuned);
  EXPECT_EQ(winner->config, "cublaslt:a66.s35");
  EXPECT_EQ(winner->chained_ratio, 1);
}

TEST_F(TunerTest, EmptyProblemsAreNothingToDo) {
  FakeBench bench;
  Store store = open();
  problems_ = {problem_of(0, 64, 64)};
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kEmpty), 1);
  EXPECT_EQ(bench.baseline_calls, 0);
}

TEST_F(TunerTest, AChangedKernelIsMeasuredAgain) {
  FakeBench bench;
  Store store = open();
  options_.kernel_hash = [](const Config&, const Problem&) { return std::string("old"); };
  must_tune(bench, store);
  const std::size_t first = bench.screened.size();
  EXPECT_EQ(bench.final_calls, 2);
  options_.kernel_hash = [](const Config&, const Problem&) { return std::string("new"); };
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kTuned), 2);
  int twice = 0;
  for (const auto& [config, times] : bench.screened) twice += times == 2;
  EXPECT_GE(twice, 2 * 20);
  EXPECT_EQ(bench.screened.size(), first);
  // The same finalists as before, and yet paired again: the kernels are others.
  EXPECT_EQ(bench.final_calls, 4);
  for (const Problem& problem : problems_)
    EXPECT_EQ((*store.winner(environment_of(bench), problem))->kernel_hash, "new");
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kAlreadyDone), 2);
}

// Where no identities are kept, as with a recording, what another run kept stands.
TEST_F(TunerTest, WithoutIdentitiesAWinnerStands) {
  FakeBench bench;
  Store store = open();
  options_.kernel_hash = [](const Config&, const Problem&) { return std::string("hash"); };
  must_tune(bench, store);
  options_.kernel_hash = {};
  EXPECT_EQ(must_tune(bench, store).count(Outcome::kAlreadyDone), 2);
}

// Another process took the problem over in the middle of the finals: its result stands, and the
// rest goes on.
TEST_F(TunerTest, ALostLeaseCostsOneProblem) {
  FakeBench bench;
  Store store = open();
  Store other = open();
  options_.lease = std::chrono::seconds(0);
  std::optional<Lease> taken;
  bench.before = [&](const Problem& problem, const char* call) -> Result<void> {
    if (problem == problems_[0] && std::string(call) == "finals")
      taken = *other.acquire(environment_of(bench), problem, std::chrono::seconds(60));
    return {};
  };
  const TuneSummary summary = must_tune(bench, store);
  ASSERT_TRUE(taken);
  EXPECT_EQ(summary.problems.at(0).outcome, Outcome::kFailed);
  EXPECT_EQ(summary.problems.at(1).outcome, Outcome::kTuned);
  EXPECT_FALSE(*store.winner(environment_of(bench), problems_[0]));
}

TEST_F(TunerTest, TwoTunersDivideTheProblems) {
  problems_.clear();
  for (int i = 1; i <= 12; ++i) problems_.push_back(problem_of(64 * i, 64, 128));
  FakeBench benches[2];
  TuneSummary summaries[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    benches[i].before = [](const Problem&, const char*) -> Result<void> {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return {};
    };
    threads.emplace_back([&, i] {
      Store store = open();
      summaries[i] = must_tune(benches[i], store);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(summaries[0].count(Outcome::kTuned) + summaries[1].count(Outcome::kTuned), 12);
  EXPECT_GT(summaries[0].count(Outcome::kTuned), 0);
  EXPECT_GT(summaries[1].count(Outcome::kTuned), 0);
  for (const auto& [config, times] : benches[0].screened)
    EXPECT_EQ(benches[1].screened.count(config), 0U) << config;
  Store store = open();
  EXPECT_EQ(store.winners()->size(), 12U);
}

TEST_F(TunerTest, RetestTakesTheFreshFigures) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  const auto chosen = *store.winner(environment_of(bench), problems_[0]);
  // The same plan, a little less lucky.
  FakeBench fresh;
  fresh.ratio = [&](const Problem&, const std::string&, Stage, Setting) { return 1.04; };
  const auto summary = retest(factory(fresh), store, problems_, options_);
  ASSERT_TRUE(summary) << summary.error().what;
  const auto tested = *store.winner(environment_of(bench), problems_[0]);
  EXPECT_EQ(tested->config, chosen->config);
  EXPECT_EQ(tested->chained_ratio, 1.04);
  EXPECT_EQ(run_purpose(tested->run), RunPurpose::kRetest);
  EXPECT_EQ(factors_, std::vector<int>{1});
  // Done once, not done again.
  EXPECT_TRUE(retest(factory(fresh), store, problems_, options_)->problems.empty());
  options_.retest_again = true;
  EXPECT_EQ(retest(factory(fresh), store, problems_, options_)->problems.size(), 2U);
}

TEST_F(TunerTest, RetestLeavesAProblemToItsHolder) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  const Environment environment = environment_of(bench);
  Store other = open();
  const auto held = *other.acquire(environment, problems_[0], std::chrono::seconds(60));
  ASSERT_TRUE(held);
  const auto summary = retest(factory(bench), store, problems_, options_);
  ASSERT_TRUE(summary) << summary.error().what;
  ASSERT_EQ(summary->problems.size(), 1U);
  EXPECT_EQ(summary->problems.at(0).problem, problems_[1]);
  EXPECT_EQ((*store.progress(environment, problems_[0]))->stage, "selected");
  // What was tested is free again.
  EXPECT_TRUE(*other.acquire(environment, problems_[1], std::chrono::seconds(60)));
  ASSERT_TRUE(other.release(*held));
  EXPECT_EQ(retest(factory(bench), store, problems_, options_)->problems.size(), 1U);
}

// What the user is shown at the end must be done.
TEST_F(TunerTest, WhatAnotherProcessHoldsIsWaitedFor) {
  FakeBench bench;
  Store store = open();
  Store other = open();
  options_.wait_for_others = true;
  const Environment environment = environment_of(bench);
  const auto hold_a_while = [&](const std::function<void()>& work) {
    const auto held = *other.acquire(environment, problems_[0], std::chrono::seconds(60));
    ASSERT_TRUE(held);
    std::thread holder([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_TRUE(other.release(*held));
    });
    work();
    holder.join();
  };
  hold_a_while([&] { EXPECT_EQ(must_tune(bench, store).count(Outcome::kTuned), 2); });
  hold_a_while([&] {
    EXPECT_EQ(must(retest(factory(bench), store, problems_, options_)).problems.size(), 2U);
  });
}

TEST_F(TunerTest, WaitingForAnotherProcessCanBeInterrupted) {
  FakeBench bench;
  Store store = open();
  Store other = open();
  options_.wait_for_others = true;
  const auto held = *other.acquire(environment_of(bench), problems_[0], std::chrono::seconds(60));
  std::thread user([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    set_interrupted(true);
  });
  const auto summary = tune(bench, store, problems_, options_);
  user.join();
  set_interrupted(false);
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_TRUE(summary->interrupted);
  EXPECT_EQ(summary->problems.at(0).outcome, Outcome::kBusy);
}

TEST_F(TunerTest, ALeaseLostInTheRetestCostsOneProblem) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  Store other = open();
  options_.lease = std::chrono::seconds(0);
  const auto make = [&](int) -> Result<std::unique_ptr<Bench>> {
    auto fresh = std::make_unique<FakeBench>();
    fresh->before = [&](const Problem& problem, const char*) -> Result<void> {
      if (problem == problems_[0]) {
        EXPECT_TRUE(*other.acquire(environment_of(bench), problem, std::chrono::seconds(60)));
      }
      return {};
    };
    return fresh;
  };
  const auto summary = retest(make, store, problems_, options_);
  ASSERT_TRUE(summary) << summary.error().what;
  ASSERT_EQ(summary->problems.size(), 2U);
  EXPECT_NE(summary->problems[0].error.find("taken over"), std::string::npos);
  EXPECT_EQ(summary->problems[1].error, "");
  EXPECT_EQ((*store.progress(environment_of(bench), problems_[0]))->stage, "selected");
}

// The scoreboard shows in each setting who is best there, as the re-test measured it.
TEST_F(TunerTest, RetestMeasuresTheBestOfEachSetting) {
  FakeBench bench;
  options_.candidates = [](const Problem&) {
    return std::vector<Config>{*parse_config("sm80_mma", kernel_families()),
                               *parse_config("sm90_ws", kernel_families())};
  };
  bench.ratio = [](const Problem&, const std::string& config, Stage, Setting setting) {
    const bool chained = setting == Setting::kChained;
    if (config.rfind("cublaslt", 0) == 0) return chained ? 1.2 : 1.15;
    if (config.rfind("sm80_mma", 0) == 0) return chained ? 1.3 : 0.96;
    return chained ? 1.1 : 0.98;
  };
  Store store = open();
  must_tune(bench, store);
  const auto summary = retest(factory(bench), store, problems_, options_);
  ASSERT_TRUE(summary) << summary.error().what;
  std::set<std::string> tested;
  for (const StoredMeasurement& row : must(store.measurements(environment_of(bench), problems_[0])))
    if (row.measurement.run == summary->run) tested.insert(row.measurement.config.substr(0, 7));
  EXPECT_EQ(tested, (std::set<std::string>{"sm80_mm", "sm90_ws", "cublasl"}));
}

TEST_F(TunerTest, APlanThatLosesTwiceGivesWay) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  FakeBench fresh;
  fresh.ratio = [&](const Problem&, const std::string&, Stage, Setting) { return 0.9; };
  const auto summary = retest(factory(fresh), store, problems_, options_);
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_TRUE(summary->problems.at(0).demoted);
  const auto winner = *store.winner(environment_of(bench), problems_[0]);
  EXPECT_EQ(winner->source, WinnerSource::kLtTuned);
  EXPECT_NE(winner->note.find("lost the re-test twice: 0.900x chained"), std::string::npos)
      << winner->note;
  EXPECT_EQ(factors_, (std::vector<int>{1, 4}));
}

TEST_F(TunerTest, APlanThatLosesOnceStays) {
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  FakeBench unlucky;
  unlucky.ratio = [&](const Problem&, const std::string&, Stage, Setting) { return 0.9; };
  FakeBench patient;
  patient.ratio = [&](const Problem&, const std::string&, Stage, Setting) { return 1.05; };
  const auto make = [&](int factor) { return factory(factor == 1 ? unlucky : patient)(factor); };
  const auto summary = retest(make, store, problems_, options_);
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_FALSE(summary->problems.at(0).demoted);
  EXPECT_EQ((*store.winner(environment_of(bench), problems_[0]))->chained_ratio, 1.05);
}

TEST_F(TunerTest, PreparesEachKernelOnce) {
  const auto requests = kernels_to_prepare(problems_, *known_target("h200"), options_);
  std::set<std::string> seen;
  for (const KernelRequest& request : requests) {
    EXPECT_EQ(to_text(request.config), kernel_text(request.config));
    EXPECT_TRUE(seen.insert(to_text(request.config)).second);
  }
  // Whatever the strategy picks has been prepared.
  FakeBench bench;
  Store store = open();
  must_tune(bench, store);
  for (const Problem& problem : problems_)
    for (const StoredMeasurement& row : must(store.measurements(environment_of(bench), problem)))
      if (row.measurement.kind == Kind::kKernel) {
        const Config config = *parse_config(row.measurement.config, kernel_families());
        EXPECT_EQ(seen.count(kernel_text(config)), 1U) << row.measurement.config;
      }
}

TEST_F(TunerTest, RefusesAnUnknownStrategyBeforeMeasuring) {
  FakeBench bench;
  Store store = open();
  options_.strategy = "luck";
  const auto summary = tune(bench, store, problems_, options_);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, ErrorCode::kBadInput);
  EXPECT_TRUE(store.runs()->empty());
}

}  // namespace
}  // namespace gemmsmith
