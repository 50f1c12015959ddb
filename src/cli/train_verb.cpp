// gemmsmith train: a policy from a recording. The learner (libtorch) is opened here and nowhere
// else; without it the verb says what to install, and every other verb is as before.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/verb.h"
#include "train/replay.h"
#include "train/trainer.h"

namespace gemmsmith::cli {
namespace {

struct TrainOptions {
  std::vector<std::string> recordings;
  std::string out;
  std::string config;
  std::string hold_out;
  std::string curve;
  std::string listwise_out;
};

constexpr int kBudgets[] = {1, 4, 16, 64};
constexpr std::string_view kCurveHeader =
    "stage,step,loss,reward,value_loss,entropy,divergence,clipped,explained,after_1,after_4,"
    "after_16\n";

Result<train::TrainConfig> config_of(const TrainOptions& options, const Session& session) {
  train::TrainConfig config;
  if (!options.config.empty()) {
    GEMMSMITH_TRY(const std::string text, read_file(options.config, kMostSettingsBytes));
    GEMMSMITH_TRY(config, train::parse_train_config(text, options.config));
  }
  if (session.settings.at("seed").origin != "default") {
    GEMMSMITH_TRY(const std::int64_t seed, session.settings.integer("seed", 0));
    config.seed = static_cast<std::uint64_t>(seed);
  }
  if (!options.hold_out.empty()) config.hold_out = options.hold_out;
  return config;
}

std::string curve_line(const train::TrainEvent& event) {
  return fmt::format(
      "{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.4g},{:.4g},{:.6g},{:.6g},{:.6g}\n", event.stage,
      event.step, event.loss, event.reward, event.ppo.value_loss, event.ppo.entropy,
      event.ppo.divergence, event.ppo.clipped, event.explained, event.after_1, event.after_4,
      event.after_16);
}

// What the held-out problems say of both networks: reinforcement learning's own share.
void print_quality(const train::Dataset& dataset, const train::HoldOut& hold_out,
                   const train::Trained& trained, OutputFormat format) {
  std::vector<const train::Shape*> shapes;
  for (const train::Shape& shape : dataset.shapes)
    if (hold_out.holds(shape.problem)) shapes.push_back(&shape);
  if (shapes.empty() && format == OutputFormat::kText) return;
  Table table({"network", "measured", "of the recorded best", "5th percentile"});
  const auto add = [&](const char* name, const policy::Network& network) {
    if (shapes.empty()) return;
    for (const train::Quality& found : train::quality(network, shapes, kBudgets))
      table.add({name, found.budget, Cell(found.mean, 4), Cell(found.low, 4)});
  };
  add("listwise", trained.listwise);
  add("policy", trained.network);
  std::cout << table.render(format);
}

// Before hours of training: that each output can be written, to a file of its own.
Result<void> check_outputs(const TrainOptions& options) {
  const std::pair<const char*, const std::string&> outputs[] = {
      {"--out", options.out}, {"--listwise-out", options.listwise_out}, {"--curve", options.curve}};
  std::vector<std::pair<const char*, std::string>> inputs = {{"--config", options.config}};
  for (const std::string& recording : options.recordings)
    inputs.emplace_back("--recording", recording);
  for (std::size_t i = 0; i < std::size(outputs); ++i) {
    const auto& [flag, file] = outputs[i];
    if (file.empty()) continue;
    const auto check_other = [&](const char* other_flag, const std::string& other) -> Result<void> {
      std::error_code error;
      const bool is_same = std::filesystem::equivalent(file, other, error) ||
                           std::filesystem::path(file).lexically_normal() ==
                               std::filesystem::path(other).lexically_normal();
      if (other.empty() || !is_same || std::filesystem::is_character_file(file, error)) return {};
      return fail(ErrorCode::kBadInput, "{} {} is {}'s file, too: name another", flag, file,
                  other_flag);
    };
    for (std::size_t j = 0; j < i; ++j)
      GEMMSMITH_CHECK(check_other(outputs[j].first, outputs[j].second));
    for (const auto& [other_flag, other] : inputs) GEMMSMITH_CHECK(check_other(other_flag, other));
    GEMMSMITH_CHECK(check_can_write(file, ErrorCode::kBadInput));
  }
  return {};
}

struct Read {
  RecordedDevice device;
  std::string names;  // of the recordings, without folders
  std::string bytes;  // all of them
};

// Several recordings of one device as one: of a config measured in more than one, the last counts.
Result<Read> read_recordings(const std::vector<std::string>& files) {
  std::vector<Measurement> rows;
  std::optional<RecordedDevice> first;
  std::string names;
  std::string bytes;
  for (const std::string& file : files) {
    GEMMSMITH_TRY(const std::string content, read_file(file));
    GEMMSMITH_TRY(RecordedDevice device, RecordedDevice::open(file));
    if (first && device.info().fingerprint() != first->info().fingerprint())
      return fail(
          ErrorCode::kBadInput,
          "--recording {} is of another device than {}: {} and {}; a policy learns from one", file,
          files.front(), device.info().fingerprint(), first->info().fingerprint());
    rows.insert(rows.end(), device.rows().begin(), device.rows().end());
    names += (names.empty() ? "" : " ") + std::filesystem::path(file).filename().string();
    bytes += content;
    if (!first) first.emplace(std::move(device));
  }
  return Read{RecordedDevice::from_rows(std::move(rows), first->info(), first->sidecar()),
              std::move(names), std::move(bytes)};
}

Result<int> run(const TrainOptions& options, const Session& session) {
  GEMMSMITH_CHECK(check_outputs(options));
  GEMMSMITH_TRY(const train::TrainConfig config, config_of(options, session));
  GEMMSMITH_TRY(const train::HoldOut hold_out, train::HoldOut::parse(config.hold_out));
  GEMMSMITH_TRY(const Read read, read_recordings(options.recordings));
  GEMMSMITH_TRY(const train::Dataset dataset, train::make_dataset(read.device));
  GEMMSMITH_TRY(const std::unique_ptr<train::Learner> learner, train::open_learner());
  if (!session.quiet)
    talk("seed {}, hold-out {}, {} problems, {} configs left out because they did not run\n",
         config.seed, config.hold_out, dataset.shapes.size(), dataset.failures);

  std::string curve(kCurveHeader);
  const std::int64_t steps = config.list_epochs + 1 + config.ppo_iterations;
  Result<train::Trained> trained = [&] {
    ProgressLine progress("steps", steps, session.quiet);
    std::int64_t done = 0;
    return train::train(dataset, config, *learner, [&](const train::TrainEvent& event) {
      curve += curve_line(event);
      const std::string seen = event.after_1 > 0
                                   ? fmt::format(", of the best after 1/4/16: {:.4f} {:.4f} {:.4f}",
                                                 event.after_1, event.after_4, event.after_16)
                                   : std::string();
      progress.update(++done, fmt::format("{} loss {:.4f}{}", event.stage, event.loss, seen));
    });
  }();
  if (!options.curve.empty())
    GEMMSMITH_CHECK(write_file_atomic(options.curve, curve, ErrorCode::kBadInput));
  if (!trained) return tl::unexpected<Error>(trained.error());

  nlohmann::ordered_json origin;
  origin["recording"] = read.names;
  origin["recording_hash"] = hash128_hex(read.bytes);
  origin["device"] = read.device.info().fingerprint();
  origin["training_problems"] = trained->training_problems;
  origin["held_out_problems"] = trained->held_out_problems;
  origin["settings"] = nlohmann::ordered_json::parse(train::format_train_config(config));
  if (!options.out.empty())
    GEMMSMITH_CHECK(policy::write_policy(options.out, {trained->network, origin.dump()}));
  origin["stage"] = "listwise";
  if (!options.listwise_out.empty())
    GEMMSMITH_CHECK(policy::write_policy(options.listwise_out, {trained->listwise, origin.dump()}));
  print_quality(dataset, hold_out, *trained, session.format);
  return 0;
}

}  // namespace

Verb add_train(CLI::App& parent, Session& session) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* app = parent.add_subcommand("train", "Train a policy on a recording (needs libtorch)");
  app->footer(
      "Examples:\n"
      "  gemmsmith train --recording data/recordings/h200/grid1000_f16_f32_tn.csv.zst \\\n"
      "                  --config data/policy/train.json --out mine.policy\n"
      "  gemmsmith train --recording grid.csv.zst --hold-out random:0/5     (prints how it does\n"
      "                  on the problems that it has not seen)\n"
      "  gemmsmith train --recording grid.csv.zst again.csv.zst              (as one)\n"
      "The same recording, config and seed give the same file.");
  app->add_option("--recording", options->recordings,
                  "Measured spaces to learn from; of several, a config's last measurement counts")
      ->required();
  app->add_option("--out", options->out, "The policy's file");
  app->add_option("--config", options->config, "Hyper-parameters, JSON (docs/agent.md)");
  app->add_option(
      "--hold-out", options->hold_out,
      "Problems to keep from training: none, random:I/N, m=V, n=V, k=V, skinny, long_k");
  app->add_option("--curve", options->curve, "Learning curve, CSV");
  app->add_option("--listwise-out", options->listwise_out,
                  "Also the network before reinforcement learning");
  add_setting_options(*app, session, {"seed"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
