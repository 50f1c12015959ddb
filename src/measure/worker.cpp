#include "measure/worker.h"

#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/numbers.h"
#include "device/device_json.h"
#include "measure/channel.h"
#include "measure/cuda_bench.h"
#include "measure/device_lock.h"
#include "measure/messages.h"
#include "vendor/all_families.h"

namespace gemmsmith {
namespace {

using nlohmann::json;

// File names and driver texts in messages need not be UTF-8, of which JSON consists.
std::string to_line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

class Worker {
 public:
  explicit Worker(Channel channel) : channel_(std::move(channel)) {}

  int serve() {
    while (true) {
      const auto line = channel_.receive_line(std::nullopt);
      if (!line) return 0;
      const json request = json::parse(*line, nullptr, false);
      const Result<json> answer = handle(request);
      const bool lost = !answer && bench_ != nullptr && bench_->is_broken();
      const json reply = answer
                             ? json{{"done", *answer}}
                             : json{{"error", messages::to_json(answer.error())}, {"lost", lost}};
      if (!channel_.send_line(to_line(reply))) return 0;
      if (lost) return kWorkerExitLost;
    }
  }

 private:
  Result<json> handle(const json& request) {
    if (!request.is_object()) return fail(ErrorCode::kBadInput, "a request that is no JSON object");
    try {
      const auto op = request.at("op").get<std::string>();
      if (op == "hello") return hello(request.at("device").get<int>());
      if (op == "open") return open(request);
      if (bench_ == nullptr) return fail(ErrorCode::kInternal, "'{}' before 'open'", op);
      if (op == "kernel") return add_kernel(request);
      GEMMSMITH_TRY(const Problem problem, messages::read_problem(request.at("problem")));
      GEMMSMITH_TRY(const std::optional<DeviceLock> alone, take_device(bench_->device().uuid));
      // Counting and timing keep out of each other's way: each is asked of a worker of its own.
      if (op == "count" || op == "launch_marked") return on_subject(op, problem, request);
      GEMMSMITH_TRY(ProblemBench* const bench, bench_->bench(problem));
      if (op == "sustain") return on_subject(op, problem, request);
      if (op == "baselines") return baselines(*bench, request);
      if (op == "vendor_configs") return vendor_configs(*bench, request.at("limit").get<int>());
      return on_candidates(*bench, op, request);
    } catch (const json::exception& error) {
      return fail(ErrorCode::kBadInput, "a bad request: {}", error.what());
    }
  }

  json done(json content) const {
    content["conditions"] = json::parse(bench_->conditions());
    return content;
  }

  // Until no other process times on the device. Empty where that cannot be known, which is said
  // once and costs no measurement.
  Result<std::optional<DeviceLock>> take_device(const std::string& uuid) {
    bool waits = false;
    auto lock = DeviceLock::take(uuid, [&] {
      if (!std::exchange(waits, true))
        log(LogLevel::kWarning, "waiting: another process measures on {}", uuid);
      return channel_.send_line(R"({"alive":true})");  // the tuner's patience starts anew
    });
    if (lock) return std::optional<DeviceLock>(*std::move(lock));
    if (waits) return tl::unexpected<Error>(lock.error());
    if (!std::exchange(said_unlocked_, true))
      log(LogLevel::kWarning, "{}: other processes may measure at the same time",
          lock.error().what);
    return std::optional<DeviceLock>();
  }

  // Needs no context: what device this is.
  Result<json> hello(int ordinal) {
    GEMMSMITH_TRY(const Driver* const driver, load_driver());
    GEMMSMITH_TRY(const DeviceInfo info, query_device(*driver, ordinal));
    return json{{"device", json::parse(device_to_json(info))}, {"uuid", info.uuid}};
  }

  Result<json> open(const json& request) {
    GEMMSMITH_TRY(const BenchSettings settings, messages::read_settings(request.at("settings")));
    GEMMSMITH_TRY(const std::string harness,
                  channel_.receive_bytes(request.at("harness").get<std::size_t>(), std::nullopt));
    GEMMSMITH_TRY(const std::string reference,
                  channel_.receive_bytes(request.at("reference").get<std::size_t>(), std::nullopt));
    GEMMSMITH_TRY(const std::string pack,
                  channel_.receive_bytes(request.at("pack").get<std::size_t>(), std::nullopt));
    // Opening times, too: the empty kernel.
    GEMMSMITH_TRY(const Driver* const driver, load_driver());
    GEMMSMITH_TRY(const DeviceInfo info, query_device(*driver, request.at("device").get<int>()));
    GEMMSMITH_TRY(const std::optional<DeviceLock> alone, take_device(info.uuid));
    GEMMSMITH_TRY(
        bench_, CudaBench::open(request.at("device").get<int>(), settings,
                                {harness, reference, pack}, request.at("run").get<std::string>()));
    return done({{"cublas", bench_->device().cublas_version}});
  }

  Result<json> add_kernel(const json& request) {
    const auto hash = request.at("hash").get<std::string>();
    GEMMSMITH_TRY(const std::string cubin,
                  channel_.receive_bytes(request.at("bytes").get<std::size_t>(), std::nullopt));
    GEMMSMITH_CHECK(bench_->add_kernel(hash, cubin));
    return json::object();
  }

  Result<json> baselines(ProblemBench& bench, const json& request) {
    GEMMSMITH_TRY(const Setting setting, parse_setting(request.at("setting").get<std::string>()));
    GEMMSMITH_TRY(const std::vector<Measurement> rows, bench.baselines(setting));
    json list = json::array();
    for (const Measurement& row : rows) list.push_back(messages::to_json(row));
    return done({{"rows", std::move(list)}});
  }

  Result<json> vendor_configs(ProblemBench& bench, int limit) {
    GEMMSMITH_TRY(const std::vector<Config> configs, bench.vendor_configs(limit));
    json list = json::array();
    for (const Config& config : configs) list.push_back(to_text(config));
    return done({{"configs", std::move(list)}});
  }

  // `needed` gets the hashes of kernels that are not here yet: the tuner sends what is missing and
  // asks again.
  Result<std::vector<Candidate>> read_candidates(const json& request, json& needed) const {
    std::vector<Candidate> candidates;
    needed = json::array();
    for (const json& item : request.at("candidates")) {
      Candidate candidate;
      GEMMSMITH_TRY(candidate.config,
                    parse_config(item.at("config").get<std::string>(), all_families()));
      candidate.hash = item.at("hash").get<std::string>();
      candidate.compile_s = item.at("compile_s").get<double>();
      if (!candidate.hash.empty() && !bench_->has_kernel(candidate.hash))
        needed.push_back(candidate.hash);
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  Result<json> on_subject(const std::string& op, const Problem& problem, const json& request) {
    json needed;
    GEMMSMITH_TRY(const std::vector<Candidate> candidates, read_candidates(request, needed));
    if (!needed.empty()) return json{{"need", std::move(needed)}};
    GEMMSMITH_TRY(const Kind kind, parse_kind(request.at("kind").get<std::string>()));
    const Candidate* const candidate = candidates.empty() ? nullptr : &candidates.front();
    if (op == "sustain") {
      GEMMSMITH_TRY(ProblemBench* const bench, bench_->bench(problem));
      GEMMSMITH_TRY(const LoadReport report,
                    bench->sustain(kind, candidate, request.at("seconds").get<double>()));
      return done({{"load", messages::to_json(report)}});
    }
    GEMMSMITH_TRY(ProblemBench* const bench, bench_->untimed_bench(problem));
    if (op == "launch_marked") {
      GEMMSMITH_CHECK(bench->launch_marked(kind, candidate));
      return done(json::object());
    }
    GEMMSMITH_TRY(const CounterScope scope,
                  parse_counter_scope(request.at("scope").get<std::string>()));
    GEMMSMITH_TRY(RangeProfiler* const profiler, bench_->profiler());
    GEMMSMITH_TRY(const CounterReport report, bench->count(kind, candidate, *profiler, scope));
    return done({{"counters", messages::to_json(report)}});
  }

  Result<json> on_candidates(ProblemBench& bench, const std::string& op, const json& request) {
    json needed;
    GEMMSMITH_TRY(const std::vector<Candidate> candidates, read_candidates(request, needed));
    if (!needed.empty()) return json{{"need", std::move(needed)}};
    if (op == "screen" || op == "finals") return measure(bench, op, request, candidates);
    if (candidates.size() != 1)
      return fail(ErrorCode::kBadInput, "'{}' of {} candidates", op, candidates.size());
    if (op == "accuracy") {
      GEMMSMITH_TRY(const AccuracyReport report, bench.accuracy(candidates.front()));
      return done({{"accuracy", messages::to_json(report)}});
    }
    if (op == "serve") return serve(bench, request, candidates.front());
    return fail(ErrorCode::kBadInput, "unknown operation '{}'", op);
  }

  Result<json> serve(ProblemBench& bench, const json& request, const Candidate& candidate) {
    GEMMSMITH_TRY(const ServeSettings settings, messages::read_serve_settings(request.at("serve")));
    // A sign of life: serving may take longer than the tuner waits in silence.
    const auto after_slice = [&] { return channel_.send_line(R"({"alive":true})"); };
    GEMMSMITH_TRY(const std::vector<ServeReport> reports,
                  bench.serve(candidate, settings, after_slice));
    json list = json::array();
    for (const ServeReport& report : reports) list.push_back(messages::to_json(report));
    return done({{"reports", std::move(list)}});
  }

  Result<json> measure(ProblemBench& bench, const std::string& op, const json& request,
                       const std::vector<Candidate>& candidates) {
    bool heard = true;
    BenchEvents events;
    events.begin = [&](std::span<const std::size_t> indices) {
      const json begin = {{"begin", std::vector<std::size_t>(indices.begin(), indices.end())}};
      heard = channel_.send_line(to_line(begin)).has_value() && heard;
    };
    events.done = [&](std::size_t index, const std::vector<Measurement>& rows) {
      json list = json::array();
      for (const Measurement& row : rows) list.push_back(messages::to_json(row));
      const json result = {{"result", index}, {"rows", std::move(list)}};
      heard = channel_.send_line(to_line(result)).has_value() && heard;
    };
    if (op == "screen") {
      GEMMSMITH_TRY(const Setting setting, parse_setting(request.at("setting").get<std::string>()));
      GEMMSMITH_CHECK(bench.screen(candidates, setting, events, request.at("group").get<int>()));
    } else {
      GEMMSMITH_CHECK(bench.finals(candidates, events));
    }
    if (!heard) return fail(ErrorCode::kInterrupted, "the tuner is gone");
    return done(json::object());
  }

  Channel channel_;
  std::unique_ptr<CudaBench> bench_;
  bool said_unlocked_ = false;
};

}  // namespace

int worker_main(int argc, char** argv) {
  // A worker without a tuner has nobody to measure for; and Ctrl-C is the tuner's to handle.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);
  allow_interrupts();  // which the tuner blocks
  int socket = -1;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) != "--fd") continue;
    const auto value = parse_int64(argv[i + 1]);
    if (value) socket = static_cast<int>(*value);
  }
  if (socket < 0) return exit_code(ErrorCode::kBadInput);
  Worker worker{Channel(socket)};
  const int code = worker.serve();
  // Without destructors: the libraries' hang or crash on a context that a fault has broken, and the
  // driver takes everything back anyway.
  std::_Exit(code);
}

}  // namespace gemmsmith
