// fake_worker.cpp -- stands for `gemmsmith worker` where there is no GPU: speaks its protocol and
// misbehaves as told. FAKE_WORKER is a list of "behaviour config" separated by ';':
//   hang crash garbage truncate        before the candidate is judged
//   hang-timing crash-timing           while its whole group is timed
//   alive                              while it serves: signs of life past every timeout
//   wrong-type                         names it in a way that nobody agreed on
//   lost                               reports a fault for it and gives up, as on a sticky error
//   error                              reports an error while it runs, alone or in its group
//   lost-timing                        the context is lost while its whole group is timed
// or, without a config: hang-hello, crash-open, hang-preparing, crash-preparing, refuse,
// wrong-type-need, wrong-type-rows,
// wait (as for another process that measures), no-permission (to count).
// FAKE_WORKER_LOG: a file that gets each request's operation as a line.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/device_json.h"
#include "measure/channel.h"
#include "measure/messages.h"

namespace {

using gemmsmith::Channel;
using nlohmann::json;

struct Script {
  std::string behaviour;
  std::string config;
};

std::vector<Script> read_script() {
  std::vector<Script> scripts;
  const char* const text = std::getenv("FAKE_WORKER");
  std::stringstream stream(text != nullptr ? text : "");
  for (std::string item; std::getline(stream, item, ';');) {
    std::stringstream words(item);
    Script script;
    words >> script.behaviour >> script.config;
    scripts.push_back(script);
  }
  return scripts;
}

class FakeWorker {
 public:
  explicit FakeWorker(int socket) : channel_(socket), scripts_(read_script()) {}

  int serve() {
    while (true) {
      const auto line = channel_.receive_line(std::nullopt);
      if (!line) return 0;
      const json request = json::parse(*line);
      const auto op = request.at("op").get<std::string>();
      log(op);
      if (op == "hello") {
        if (told("hang-hello")) hang();
        hello();
      } else if (op == "open") {
        if (told("crash-open")) std::abort();
        take(request.at("harness").get<std::size_t>());
        take(request.at("reference").get<std::size_t>());
        take(request.at("pack").get<std::size_t>());
        send({{"done", {{"cublas", "13.1.0"}, {"conditions", {{"run", request.at("run")}}}}}});
      } else if (op == "kernel") {
        kernels_.insert(request.at("hash").get<std::string>());
        take(request.at("bytes").get<std::size_t>());
        send({{"done", json::object()}});
      } else if (op == "screen" || op == "finals") {
        if (told("hang-preparing")) hang();
        if (told("crash-preparing")) std::abort();
        if (told("refuse")) {
          send({{"error", {{"code", "unsupported"}, {"what", "refused"}}}});
        } else if (const int code = measure(request, op == "screen"); code >= 0) {
          return code;
        }
      } else if (op == "sustain" || op == "count" || op == "launch_marked") {
        about_subject(request, op);
      } else if (op == "accuracy" || op == "serve") {
        about_one(request, op);
      } else {
        baselines_or_configs(request, op);
      }
    }
  }

 private:
  [[noreturn]] static void hang() {
    while (true) ::pause();
  }
  bool told(const std::string& behaviour, const std::string& config = "") const {
    for (const Script& script : scripts_)
      if (script.behaviour == behaviour && script.config == config) return true;
    return false;
  }
  void log(const std::string& op) const {
    if (const char* const path = std::getenv("FAKE_WORKER_LOG")) {
      std::ofstream file(path, std::ios::app);
      file << op << '\n';
    }
  }
  void send(const json& message) {
    if (!channel_.send_line(message.dump())) std::exit(0);
  }
  void take(std::size_t bytes) {
    if (!channel_.receive_bytes(bytes, std::nullopt)) std::exit(0);
  }
  void hello() {
    gemmsmith::DeviceInfo info;
    info.target = *gemmsmith::known_target("h200");
    send({{"done",
           {{"device", json::parse(gemmsmith::device_to_json(info))}, {"uuid", "GPU-fake"}}}});
  }

  json row(const json& candidate, bool screen, const char* setting) const {
    gemmsmith::Measurement row;
    row.config = candidate.at("config").get<std::string>();
    row.compile_s = candidate.at("compile_s").get<double>();
    row.kind = candidate.at("hash").get<std::string>().empty() ? gemmsmith::Kind::kVendor
                                                               : gemmsmith::Kind::kKernel;
    row.stage = screen ? gemmsmith::Stage::kScreen : gemmsmith::Stage::kFinal;
    row.setting = *gemmsmith::parse_setting(setting);
    row.median_us = row.low_us = row.high_us = 5;
    row.ratio = row.ratio_low = row.ratio_high = 1.25;
    row.repeats_us = {5, 5, 5};
    return gemmsmith::messages::to_json(row);
  }

  // True where kernels had to be asked for.
  bool lacks_kernels(const json& candidates) {
    std::set<std::string> needed;
    for (const json& candidate : candidates) {
      const auto hash = candidate.at("hash").get<std::string>();
      if (!hash.empty() && !kernels_.contains(hash)) needed.insert(hash);
    }
    if (needed.empty()) return false;
    if (told("wrong-type-need")) {
      send({{"done", {{"need", 7}}}});
      return true;
    }
    send({{"done", {{"need", needed}}}});
    return true;
  }

  // 8 x 0.1 s: longer than any test's patience with a silent worker.
  void wait_alive(bool wanted) {
    for (int i = 0; wanted && i < 8; ++i) {
      send({{"alive", true}});
      ::usleep(100'000);
    }
  }

  void about_one(const json& request, const std::string& op) {
    if (lacks_kernels(request.at("candidates"))) return;
    const auto config = request.at("candidates").at(0).at("config").get<std::string>();
    if (told("crash", config)) std::abort();
    if (op == "accuracy") {
      gemmsmith::AccuracyReport report;
      report.config = config;
      report.relative_error = 2e-4;
      report.bound_ratio = 0.25;
      send({{"done", {{"accuracy", gemmsmith::messages::to_json(report)}}}});
      return;
    }
    const auto settings = *gemmsmith::messages::read_serve_settings(request.at("serve"));
    wait_alive(told("alive", config));
    json reports = json::array();
    for (const gemmsmith::Kind kind :
         {gemmsmith::Kind::kKernel, gemmsmith::Kind::kCublas, gemmsmith::Kind::kCublasAutotune,
          gemmsmith::Kind::kLtFirst, gemmsmith::Kind::kLtTuned}) {
      gemmsmith::ServeReport report;
      report.kind = kind;
      report.config = kind == gemmsmith::Kind::kKernel ? config : "";
      report.achieved_qps = settings.target_qps;
      reports.push_back(gemmsmith::messages::to_json(report));
    }
    send({{"done", {{"reports", reports}}}});
  }

  void about_subject(const json& request, const std::string& op) {
    if (lacks_kernels(request.at("candidates"))) return;
    if (told("no-permission")) {
      send({{"error", {{"code", "environment"}, {"what", "cannot read hardware counters"}}}});
      return;
    }
    const auto kind = request.at("kind").get<std::string>();
    if (op == "launch_marked") {
      send({{"done", json::object()}});
    } else if (op == "sustain") {
      gemmsmith::LoadReport report;
      report.us = request.at("seconds").get<double>() * 10;
      report.detail = kind;
      report.power_w = 500;
      send({{"done", {{"load", gemmsmith::messages::to_json(report)}}}});
    } else {
      gemmsmith::CounterReport report;
      report.chip = "GH100";
      report.detail = kind + " " + request.at("scope").get<std::string>();
      report.values[gemmsmith::Counter::kIpc] = 1.5;
      send({{"done", {{"counters", gemmsmith::messages::to_json(report)}}}});
    }
  }

  // -1 to go on, else the exit code.
  int measure(const json& request, bool screen) {
    const json& candidates = request.at("candidates");
    if (lacks_kernels(candidates)) return -1;
    wait_alive(told("wait"));
    const std::size_t group = screen ? request.at("group").get<std::size_t>() : 1;
    for (std::size_t first = 0; first < candidates.size(); first += group) {
      std::vector<std::size_t> running;
      for (std::size_t i = first; i < std::min(first + group, candidates.size()); ++i) {
        const auto config = candidates[i].at("config").get<std::string>();
        send({{"begin", {i}}});
        if (told("hang", config)) hang();
        if (told("crash", config)) std::abort();
        if (told("garbage", config)) {
          send("garbage");
          hang();
        }
        if (told("wrong-type", config)) {
          send({{"result", "the first"}});
          hang();
        }
        if (told("truncate", config)) {
          (void)channel_.send_bytes("{\"result\":");
          ::raise(SIGKILL);
        }
        if (told("lost", config)) {
          json lost = row(candidates[i], screen, "chained");
          lost["status"] = "fault";
          send({{"result", i}, {"rows", {lost}}});
          send({{"error", {{"code", "device"}, {"what", "the context was lost"}}}, {"lost", true}});
          return 3;
        }
        running.push_back(i);
      }
      send({{"begin", running}});
      for (const std::size_t i : running) {
        const auto config = candidates[i].at("config").get<std::string>();
        if (told("hang-timing", config)) hang();
        if (told("crash-timing", config)) std::abort();
        if (told("error", config)) {
          send({{"error", {{"code", "device"}, {"what", "launching a kernel failed"}}}});
          return -1;
        }
        if (told("lost-timing", config)) {
          send({{"error", {{"code", "device"}, {"what", "illegal address"}}}, {"lost", true}});
          return 3;
        }
      }
      for (const std::size_t i : running) {
        const auto setting = request.at("setting").get<std::string>();
        json rows = json::array({row(candidates[i], screen, setting.c_str())});
        if (!screen) rows.push_back(row(candidates[i], screen, "foreign"));
        send({{"result", i}, {"rows", rows}});
      }
    }
    send({{"done", {{"conditions", {{"problems", 1}}}}}});
    return -1;
  }

  void baselines_or_configs(const json& request, const std::string& op) {
    if (op == "vendor_configs") {
      const json configs = {"cublaslt:a66.t20.s35", "cublaslt:a66.t23.s35"};
      send({{"done", {{"configs", configs}}}});
      return;
    }
    if (told("wrong-type-rows")) {
      send({{"done", "no object"}});
      return;
    }
    const auto setting = request.at("setting").get<std::string>();
    json rows = json::array();
    for (const char* kind : {"cublas", "cublas_autotune", "lt_first", "lt_tuned"}) {
      json one = row({{"config", ""}, {"hash", ""}, {"compile_s", 0.0}}, false, setting.c_str());
      one["kind"] = kind;
      rows.push_back(one);
    }
    send({{"done", {{"rows", rows}}}});
  }

  Channel channel_;
  std::vector<Script> scripts_;
  std::set<std::string> kernels_;
};

}  // namespace

int main(int argc, char** argv) {
  int socket = -1;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string(argv[i]) == "--fd") socket = std::atoi(argv[i + 1]);
  if (socket < 0) return 2;
  return FakeWorker(socket).serve();
}
