#include "measure/worker_bench.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/log.h"
#include "device/device_json.h"
#include "measure/messages.h"
#include "measure/worker.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {
namespace {

using nlohmann::json;

// Deaths of a worker that no candidate explains before the problem is given up.
constexpr int kMaxUnexplainedDeaths = 2;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

// A worker that sends a field of another type than agreed is as good as dead: its exception ends
// here.
template <class Function>
auto reading(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const json::exception& error) {
    return fail(ErrorCode::kDevice, "the worker sent a message of another form: {}", error.what());
  }
}

// The hashes of the kernels that the worker asks for instead of answering; mostly none.
Result<std::vector<std::string>> kernels_needed(const std::string& answer) {
  return reading([&]() -> Result<std::vector<std::string>> {
    return json::parse(answer).value("need", std::vector<std::string>());
  });
}

}  // namespace

// What a conversation is about, and how far it came.
struct WorkerBench::Request {
  const Problem* problem = nullptr;
  std::span<const Config> configs;
  std::vector<std::size_t> asked;              // request's index -> index in configs
  std::vector<std::string> hashes;             // of all configs; empty for the vendor's
  std::vector<std::vector<Measurement>> rows;  // of all configs; empty while unknown
  std::vector<std::size_t> in_flight;          // indices in configs
};

struct WorkerBench::Reply {
  enum class End { kDone, kError, kLost, kTimeout };
  End end = End::kLost;
  std::string content;        // kDone: JSON
  Error error;                // of the others
  bool context_lost = false;  // kError: the worker can measure nothing more
};

WorkerBench::WorkerBench(int ordinal, const BenchSettings& settings,
                         std::unique_ptr<KernelProvider> kernels, WorkerOptions options)
    : ordinal_(ordinal),
      settings_(settings),
      kernels_(std::move(kernels)),
      options_(std::move(options)),
      run_(fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)), ::getpid())) {}

WorkerBench::~WorkerBench() = default;

Result<std::unique_ptr<WorkerBench>> WorkerBench::open(int ordinal, const BenchSettings& settings,
                                                       std::unique_ptr<KernelProvider> kernels,
                                                       WorkerOptions options) {
  std::unique_ptr<WorkerBench> bench(
      new WorkerBench(ordinal, settings, std::move(kernels), std::move(options)));
  GEMMSMITH_CHECK(bench->ensure_worker());
  return bench;
}

std::string WorkerBench::run_name() const { return fmt::format("{}.{}", run_, workers_started_); }

void WorkerBench::lose_worker() { worker_.reset(); }

void WorkerBench::remember_conditions(const std::string& text) {
  if (conditions_.size() < static_cast<std::size_t>(workers_started_))
    conditions_.resize(static_cast<std::size_t>(workers_started_));
  conditions_.back() = text;
}

Result<void> WorkerBench::ensure_worker() {
  if (worker_ != nullptr) return {};
  GEMMSMITH_TRY(worker_, WorkerProcess::start(options_.executable, options_.arguments));
  ++workers_started_;
  if (auto opened = open_worker(); !opened) {
    lose_worker();
    return opened;
  }
  return {};
}

// First the device, so that the harness can be compiled for it; then everything else.
Result<void> WorkerBench::open_worker() {
  GEMMSMITH_TRY(const std::string hello, ask(json{{"op", "hello"}, {"device", ordinal_}}.dump()));
  const json about = json::parse(hello, nullptr, false);
  if (!about.is_object() || !about.contains("device"))
    return fail(ErrorCode::kDevice, "the worker did not say what its device is");
  GEMMSMITH_TRY(device_, device_from_json(about["device"].dump()));
  device_.uuid = about.value("uuid", std::string());
  device_.compiler_version = kernels_->version();
  auto architecture = compile_architecture(device_.target.compute_capability);
  if (!architecture)
    return fail(ErrorCode::kEnvironment, "cannot use cuda:{} ({}): {}; choose another device",
                ordinal_, device_.target.name, architecture.error().what);
  architecture_ = *std::move(architecture);
  GEMMSMITH_TRY(const std::string harness, kernels_->utility_cubin("harness.cu", architecture_));
  GEMMSMITH_TRY(const std::string reference,
                kernels_->utility_cubin("reference.cu", architecture_));
  GEMMSMITH_TRY(const std::string pack, kernels_->utility_cubin("pack.cu", architecture_));
  const json open = {
      {"op", "open"},       {"device", ordinal_},        {"settings", messages::to_json(settings_)},
      {"run", run_name()},  {"harness", harness.size()}, {"reference", reference.size()},
      {"pack", pack.size()}};
  GEMMSMITH_TRY(const std::string opened, ask(open.dump(), harness + reference + pack));
  return reading([&]() -> Result<void> {
    device_.cublas_version = json::parse(opened).value("cublas", std::string());
    return {};
  });
}

WorkerBench::Reply WorkerBench::converse(const std::string& line, std::string_view payload,
                                         Request& request) {
  auto reply = reading([&]() -> Result<Reply> { return exchange(line, payload, request); });
  if (reply) return *std::move(reply);
  return {Reply::End::kLost, {}, reply.error()};
}

WorkerBench::Reply WorkerBench::exchange(const std::string& line, std::string_view payload,
                                         Request& request) {
  Reply reply;
  const auto lost = [&](Reply::End end, Error error) {
    reply.end = end;
    reply.error = std::move(error);
    return reply;
  };
  auto sent = worker_->channel().send_line(line);
  if (sent) sent = worker_->channel().send_bytes(payload);
  if (!sent) return lost(Reply::End::kLost, sent.error());
  while (true) {
    const double patience_s =
        request.in_flight.empty() ? options_.prepare_timeout_s : settings_.candidate_timeout_s;
    auto received = worker_->channel().receive_line(milliseconds(patience_s));
    if (!received) {
      const bool late = received.error().code == ErrorCode::kTimeout;
      return lost(late ? Reply::End::kTimeout : Reply::End::kLost, received.error());
    }
    const json message = json::parse(*received, nullptr, false);
    if (!message.is_object())
      return lost(Reply::End::kLost,
                  Error{ErrorCode::kDevice, "the worker sent something that is no message"});
    if (message.contains("done")) {
      reply.end = Reply::End::kDone;
      const json& content = message["done"];
      if (content.contains("conditions")) remember_conditions(content["conditions"].dump());
      reply.content = content.dump();
      return reply;
    }
    if (message.contains("error")) {
      reply.context_lost = message.value("lost", false);
      return lost(Reply::End::kError, messages::read_error(message["error"]));
    }
    if (message.contains("alive")) {
      if (!interrupted()) continue;
      return lost(Reply::End::kError, Error{ErrorCode::kInterrupted, "interrupted"});
    }
    if (message.contains("begin")) {
      request.in_flight.clear();
      for (const json& index : message["begin"]) {
        const auto asked = index.get<std::size_t>();
        if (asked < request.asked.size()) request.in_flight.push_back(request.asked[asked]);
      }
      continue;
    }
    const auto asked = message.value("result", request.asked.size());
    if (asked >= request.asked.size()) continue;
    std::vector<Measurement>& rows = request.rows[request.asked[asked]];
    rows.clear();
    for (const json& row : message.value("rows", json::array())) {
      auto measurement = messages::read_measurement(row, *request.problem);
      if (!measurement) return lost(Reply::End::kLost, measurement.error());
      rows.push_back(std::move(*measurement));
    }
    std::erase(request.in_flight, request.asked[asked]);
  }
}

Result<std::string> WorkerBench::ask(const std::string& line, std::string_view payload) {
  Request request;
  const Reply reply = converse(line, payload, request);
  switch (reply.end) {
    case Reply::End::kDone:
      return reply.content;
    case Reply::End::kError:
      // Interrupted, the worker is still at it and would answer the next question with this one.
      if (reply.error.code == ErrorCode::kInterrupted) lose_worker();
      return tl::unexpected<Error>(reply.error);
    case Reply::End::kTimeout:
      lose_worker();
      return fail(ErrorCode::kTimeout, "the worker did not answer within {:g} s: killed",
                  options_.prepare_timeout_s);
    case Reply::End::kLost:
      break;
  }
  const std::string end = worker_->bury();
  lose_worker();
  return fail(ErrorCode::kDevice, "the worker ended by {}: {}", end, reply.error.what);
}

Result<std::vector<Measurement>> WorkerBench::baselines(const Problem& problem) {
  return baselines(problem, Setting::kChained);
}

Result<std::vector<Measurement>> WorkerBench::foreign_baselines(const Problem& problem) {
  return baselines(problem, Setting::kForeign);
}

Result<std::vector<Measurement>> WorkerBench::baselines(const Problem& problem, Setting setting) {
  GEMMSMITH_CHECK(ensure_worker());
  const json request = {
      {"op", "baselines"}, {"problem", messages::to_json(problem)}, {"setting", name(setting)}};
  GEMMSMITH_TRY(const std::string answer, ask(request.dump()));
  return reading([&]() -> Result<std::vector<Measurement>> {
    const json content = json::parse(answer);
    std::vector<Measurement> rows;
    for (const json& row : content.value("rows", json::array())) {
      GEMMSMITH_TRY(Measurement measurement, messages::read_measurement(row, problem));
      rows.push_back(std::move(measurement));
    }
    return rows;
  });
}

Result<std::vector<Config>> WorkerBench::vendor_configs(const Problem& problem, int limit) {
  GEMMSMITH_CHECK(ensure_worker());
  const json request = {
      {"op", "vendor_configs"}, {"problem", messages::to_json(problem)}, {"limit", limit}};
  GEMMSMITH_TRY(const std::string answer, ask(request.dump()));
  const Family* const families[] = {&vendor::cublaslt_family()};
  return reading([&]() -> Result<std::vector<Config>> {
    std::vector<Config> configs;
    const json content = json::parse(answer);
    for (const json& text : content.value("configs", json::array())) {
      GEMMSMITH_TRY(Config config, parse_config(text.get<std::string>(), families));
      configs.push_back(std::move(config));
    }
    return configs;
  });
}

Result<std::vector<Measurement>> WorkerBench::screen(const Problem& problem,
                                                     std::span<const Config> configs,
                                                     Setting setting) {
  return measure({"screen", Stage::kScreen, setting}, problem, configs);
}

Result<std::vector<Measurement>> WorkerBench::finals(const Problem& problem,
                                                     std::span<const Config> configs) {
  return measure({"finals", Stage::kFinal, Setting::kChained}, problem, configs);
}

Result<std::string> WorkerBench::ask_about(const Problem& problem, const Config& config,
                                           json request) {
  GEMMSMITH_CHECK(ensure_worker());
  Request about;
  about.problem = &problem;
  about.configs = std::span(&config, 1);
  about.hashes.resize(1);
  double compile_s = 0;
  if (!vendor::is_vendor(config)) {
    GEMMSMITH_TRY(const std::vector<KernelInfo> infos,
                  kernels_->prepare(about.configs, problem, architecture_));
    const KernelInfo& info = infos.front();
    if (info.status != Status::kOk)
      return fail(ErrorCode::kCompile, "{}: {}, {}", to_text(config), name(info.status),
                  info.detail);
    about.hashes.front() = info.hash;
    compile_s = info.compile_s;
  }
  json candidate = {
      {"config", to_text(config)}, {"hash", about.hashes.front()}, {"compile_s", compile_s}};
  request["problem"] = messages::to_json(problem);
  request["candidates"] = json::array({std::move(candidate)});
  GEMMSMITH_TRY(std::string answer, ask(request.dump()));
  GEMMSMITH_TRY(const std::vector<std::string> needed, kernels_needed(answer));
  if (needed.empty()) return answer;
  GEMMSMITH_CHECK(send_kernels(needed, about));
  return ask(request.dump());
}

Result<AccuracyReport> WorkerBench::accuracy(const Problem& problem, const Config& config) {
  GEMMSMITH_TRY(const std::string answer,
                ask_about(problem, config, json::object({{"op", "accuracy"}})));
  return reading([&] {
    return messages::read_accuracy(json::parse(answer).value("accuracy", json::object()));
  });
}

Result<std::vector<ServeReport>> WorkerBench::serve(const Problem& problem, const Config& config,
                                                    const ServeSettings& settings) {
  const json request = {{"op", "serve"}, {"serve", messages::to_json(settings)}};
  GEMMSMITH_TRY(const std::string answer, ask_about(problem, config, request));
  return reading([&]() -> Result<std::vector<ServeReport>> {
    const json content = json::parse(answer);
    std::vector<ServeReport> reports;
    for (const json& item : content.value("reports", json::array())) {
      GEMMSMITH_TRY(ServeReport report, messages::read_serve_report(item));
      reports.push_back(std::move(report));
    }
    return reports;
  });
}

Result<std::string> WorkerBench::ask_about(const Problem& problem, const Subject& subject,
                                           json request) {
  request["kind"] = name(subject.kind);
  if (subject.config) return ask_about(problem, *subject.config, std::move(request));
  GEMMSMITH_CHECK(ensure_worker());
  request["problem"] = messages::to_json(problem);
  request["candidates"] = json::array();
  return ask(request.dump());
}

Result<LoadReport> WorkerBench::sustain(const Problem& problem, const Subject& subject,
                                        double seconds) {
  const json request = {{"op", "sustain"}, {"seconds", seconds}};
  GEMMSMITH_TRY(const std::string answer, ask_about(problem, subject, request));
  return reading([&] {
    return messages::read_load_report(json::parse(answer).value("load", json::object()));
  });
}

Result<CounterReport> WorkerBench::count(const Problem& problem, const Subject& subject,
                                         CounterScope scope) {
  const json request = {{"op", "count"}, {"scope", name(scope)}};
  GEMMSMITH_TRY(const std::string answer, ask_about(problem, subject, request));
  return reading([&] {
    return messages::read_counter_report(json::parse(answer).value("counters", json::object()));
  });
}

Result<void> WorkerBench::launch_marked(const Problem& problem, const Subject& subject) {
  const json request = json::object({{"op", "launch_marked"}});
  GEMMSMITH_TRY(const std::string answer, ask_about(problem, subject, request));
  return {};
}

std::vector<Measurement> WorkerBench::failed_rows(const Config& config, const Problem& problem,
                                                  const Operation& operation, Status status,
                                                  const std::string& detail,
                                                  double compile_s) const {
  Measurement row;
  row.problem = problem;
  row.kind = vendor::is_vendor(config) ? Kind::kVendor : Kind::kKernel;
  row.config = to_text(config);
  row.status = status;
  row.stage = operation.stage;
  row.setting = operation.setting;
  row.run = run_name();
  row.compile_s = compile_s;
  row.detail = detail;
  std::vector<Measurement> rows = {row};
  if (operation.stage == Stage::kFinal) {
    row.setting = Setting::kForeign;
    rows.push_back(row);
  }
  return rows;
}

Result<void> WorkerBench::send_kernels(const std::vector<std::string>& hashes, Request& request) {
  for (const std::string& hash : hashes) {
    const auto at = std::find(request.hashes.begin(), request.hashes.end(), hash);
    if (at == request.hashes.end())
      return fail(ErrorCode::kInternal, "the worker wants kernel {}, which nobody offered", hash);
    const Config& config = request.configs[static_cast<std::size_t>(at - request.hashes.begin())];
    GEMMSMITH_TRY(const std::string cubin,
                  kernels_->cubin(config, *request.problem, architecture_));
    const json line = {{"op", "kernel"}, {"hash", hash}, {"bytes", cubin.size()}};
    GEMMSMITH_TRY(const std::string loaded, ask(line.dump(), cubin));
  }
  return {};
}

Result<std::vector<Measurement>> WorkerBench::measure(const Operation& operation,
                                                      const Problem& problem,
                                                      std::span<const Config> configs) {
  GEMMSMITH_CHECK(ensure_worker());
  Request request;
  request.problem = &problem;
  request.configs = configs;
  request.hashes.resize(configs.size());
  request.rows.resize(configs.size());
  std::vector<double> compile_s(configs.size(), 0);

  std::vector<Config> ours;
  std::vector<std::size_t> ours_at;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (vendor::is_vendor(configs[i])) continue;
    ours.push_back(configs[i]);
    ours_at.push_back(i);
  }
  GEMMSMITH_TRY(const std::vector<KernelInfo> infos,
                kernels_->prepare(ours, problem, architecture_));
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const std::size_t at = ours_at[i];
    request.hashes[at] = infos[i].hash;
    compile_s[at] = infos[i].compile_s;
    if (infos[i].status != Status::kOk)
      request.rows[at] = failed_rows(configs[at], problem, operation, infos[i].status,
                                     infos[i].detail, infos[i].compile_s);
  }

  int group = options_.group;
  int unexplained = 0;
  bool sent_kernels = false;
  while (true) {
    if (interrupted())
      return fail(ErrorCode::kInterrupted, "interrupted while measuring {}", describe(problem));
    request.asked.clear();
    request.in_flight.clear();
    json candidates = json::array();
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (!request.rows[i].empty()) continue;
      request.asked.push_back(i);
      candidates.push_back({{"config", to_text(configs[i])},
                            {"hash", request.hashes[i]},
                            {"compile_s", compile_s[i]}});
    }
    if (request.asked.empty()) break;
    const std::size_t before = request.asked.size();
    GEMMSMITH_CHECK(ensure_worker());
    const json line = {{"op", operation.name},
                       {"problem", messages::to_json(problem)},
                       {"setting", name(operation.setting)},
                       {"group", group},
                       {"candidates", std::move(candidates)}};
    const Reply reply = converse(line.dump(), {}, request);
    const auto unanswered = static_cast<std::size_t>(std::count_if(
        request.rows.begin(), request.rows.end(), [](const auto& rows) { return rows.empty(); }));

    if (reply.end == Reply::End::kDone) {
      GEMMSMITH_TRY(const std::vector<std::string> needed, kernels_needed(reply.content));
      if (!needed.empty() && !sent_kernels) {
        GEMMSMITH_CHECK(send_kernels(needed, request));
        sent_kernels = true;
        continue;
      }
      if (unanswered != 0)
        return fail(ErrorCode::kInternal, "the worker left out {} of {} candidates", unanswered,
                    before);
      break;
    }
    // An error before any candidate ran concerns the problem; one while candidates run costs them
    // alone. A worker whose context is lost is replaced for the rest.
    const bool error = reply.end == Reply::End::kError;
    // Interrupted, the worker may still wait for the GPU, and would answer the next request with
    // this one.
    if (error && reply.error.code == ErrorCode::kInterrupted) lose_worker();
    if (error && (reply.error.code == ErrorCode::kInterrupted ||
                  (request.in_flight.empty() && unanswered == before)))
      return tl::unexpected<Error>(reply.error);
    const bool timeout = reply.end == Reply::End::kTimeout;
    std::string end;
    if (!error || reply.context_lost) {
      end = worker_->bury();
      lose_worker();
      sent_kernels = false;
    }
    log(LogLevel::kInfo, "worker={} problem={} reason=\"{}\" end=\"{}\"",
        worker_ != nullptr ? "error" : "lost", shape_name(problem), reply.error.what, end);
    if (error && request.in_flight.empty()) continue;
    if (request.in_flight.size() == 1) {
      const std::size_t guilty = request.in_flight.front();
      const bool fault = !timeout && worker_ == nullptr;
      timeouts_ += timeout;
      faults_ += fault;
      const Status status = timeout ? Status::kTimeout : fault ? Status::kFault : Status::kLaunch;
      std::string detail = error ? reply.error.what : fmt::format("the worker ended by {}", end);
      if (timeout)
        detail = fmt::format("no answer for {:g} s: killed", settings_.candidate_timeout_s);
      request.rows[guilty] =
          failed_rows(configs[guilty], problem, operation, status, detail, compile_s[guilty]);
    } else if (request.in_flight.size() > 1) {
      group = 1;  // one by one, the next death has a name
    } else if (++unexplained >= kMaxUnexplainedDeaths) {
      return fail(ErrorCode::kDevice, "the worker died {} times on {} before any candidate: {}, {}",
                  unexplained, describe(problem), reply.error.what, end);
    }
  }

  std::vector<Measurement> all;
  for (std::vector<Measurement>& rows : request.rows)
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  return all;
}

std::string WorkerBench::conditions() const {
  json workers = json::array();
  for (const std::string& text : conditions_) {
    json one = json::parse(text, nullptr, false);
    if (one.is_object()) workers.push_back(std::move(one));
  }
  const json conditions = {
      {"protocol", fmt::format("graph-abba-{}", kProtocolVersion)},
      {"settings", messages::to_json(settings_)},
      {"device", json::parse(device_to_json(device_))},
      {"workers", workers},
      {"counts", {{"workers", workers_started_}, {"timeouts", timeouts_}, {"faults", faults_}}}};
  return conditions.dump();
}

}  // namespace gemmsmith
