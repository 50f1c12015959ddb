// verb.h -- what the verbs of the command line share: the resolved settings, how to print, and how
// a verb is registered. Each verb is one file that defines one add_*() function.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "base/table.h"
#include "problem/problem.h"

namespace gemmsmith::cli {

struct Session {
  Settings settings;
  std::vector<std::string> arguments;  // as typed, for the record of a run
  OutputFormat format = OutputFormat::kText;
  bool quiet = false;
};

// A verb's work; the value is the exit code.
using Work = std::function<Result<int>()>;

struct Verb {
  CLI::App* app = nullptr;
  Work run;
};

// Flags that every verb understands: --json, --csv, --quiet.
void add_output_options(CLI::App& app, Session& session);

// Flags that override settings of the same name, given by name: "device" also adds
// --gpu-device-id N, another spelling of --device cuda:N.
void add_setting_options(CLI::App& app, Session& session, const std::vector<std::string>& names);

// --mnk, --shapes and the fields of a problem.
struct ProblemOptions {
  std::vector<std::string> mnk;
  std::string shapes;
  std::string type = "f16";
  std::string acc = "f32";
  std::string out_type;  // of C and D; empty: as type
  std::string layout = "tn";
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  std::int64_t batch = 1;
  // kDense where not given.
  std::int64_t stride_a = kDense, stride_b = kDense, stride_c = kDense, stride_d = kDense;
  float alpha = 1, beta = 0;

  void add_to(CLI::App& app);
  Result<Problem> defaults() const;
  // Every problem asked for, zero-size ones included; kBadInput when none is.
  Result<std::vector<Problem>> problems() const;
};

// A line to paste that does one problem again: every field of it, the device, the seed and, where
// there is one, the config. `verb` may bring flags of its own: "eval --mode server".
std::string repeat_line(const Session& session, std::string_view verb, const Problem& problem,
                        std::string_view config = {});

Verb add_space(CLI::App& parent, Session& session);
Verb add_compile(CLI::App& parent, Session& session);
Verb add_info(CLI::App& parent, Session& session);
Verb add_tune(CLI::App& parent, Session& session);
Verb add_bench(CLI::App& parent, Session& session);
Verb add_verify(CLI::App& parent, Session& session);
Verb add_eval(CLI::App& parent, Session& session);
Verb add_store(CLI::App& parent, Session& session);
Verb add_report(CLI::App& parent, Session& session);
Verb add_train(CLI::App& parent, Session& session);
Verb add_explain(CLI::App& parent, Session& session);
Verb add_profile(CLI::App& parent, Session& session);
Verb add_monitor(CLI::App& parent, Session& session);
Verb add_export(CLI::App& parent, Session& session);

}  // namespace gemmsmith::cli
