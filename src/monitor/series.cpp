#include "monitor/series.h"

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/numbers.h"
#include "monitor/baseline.h"
#include "problem/shape_list.h"

namespace gemmsmith::monitor {
namespace {

constexpr std::string_view kBesides[] = {"t_s",         "shape",    "config",  "latency_us",
                                         "promised_us", "throttle", "of_left", "next"};
// Slowdowns that were not the GPU's own choice, of NVML's reasons by name.
constexpr std::string_view kHeldDown[] = {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown",
                                          "hw_thermal_slowdown", "hw_power_brake"};

std::vector<std::string_view> split(std::string_view line, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(line.find(at), line.size());
    parts.push_back(line.substr(0, end));
    if (end == line.size()) return parts;
    line.remove_prefix(end + 1);
  }
}

bool is_held_down(std::string_view reasons) {
  for (const std::string_view reason : split(reasons, '+'))
    if (std::find(std::begin(kHeldDown), std::end(kHeldDown), reason) != std::end(kHeldDown))
      return true;
  return false;
}

// Where each column of a header is.
class Header {
 public:
  static Result<Header> read(std::string_view line, const std::string& place) {
    Header header;
    header.names_ = split(line, ',');
    std::set<std::string_view> seen;
    for (const std::string_view name : header.names_) {
      if (!header.is_known(name))
        return fail(
            ErrorCode::kBadInput,
            "{}: unknown column '{}': expected t_s, shape, config, latency_us, promised_us, "
            "throttle, of_left, next or a metric",
            place, name);
      if (!seen.insert(name).second)
        return fail(ErrorCode::kBadInput, "{}: the column '{}' twice", place, name);
    }
    for (const char* needed : {"t_s", "shape", "config"})
      if (header.at(needed) < 0)
        return fail(ErrorCode::kBadInput, "{}: no column '{}'", place, needed);
    if ((header.at("latency_us") < 0) != (header.at("promised_us") < 0))
      return fail(ErrorCode::kBadInput, "{}: latency_us and promised_us belong together", place);
    if (header.at("latency_us") >= 0 && header.at("latency_ratio") >= 0)
      return fail(ErrorCode::kBadInput,
                  "{}: latency_ratio besides latency_us: expected one of them", place);
    return header;
  }

  // -1 where there is none.
  int at(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
  }
  std::size_t size() const { return names_.size(); }
  std::string_view name(std::size_t at) const { return names_[at]; }

 private:
  static bool is_known(std::string_view name) {
    if (std::find(std::begin(kBesides), std::end(kBesides), name) != std::end(kBesides))
      return true;
    return std::any_of(metrics().begin(), metrics().end(),
                       [&](const Metric& metric) { return name == metric.name; });
  }
  std::vector<std::string_view> names_;
};

class SeriesReader {
 public:
  SeriesReader(const std::string& source, const Problem& base) : source_(source), base_(base) {}

  Result<Series> read(std::string_view text) {
    std::optional<Header> header;
    for (line_ = 1; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty() || line.front() == '#') continue;
      if (!header) {
        GEMMSMITH_TRY(header, Header::read(line, fmt::format("{}:{}", source_, line_)));
        note_metrics(*header);
        continue;
      }
      GEMMSMITH_CHECK(read_line(*header, line));
    }
    if (!header) return fail(ErrorCode::kBadInput, "{}: empty: expected a header", source_);
    return std::move(series_);
  }

 private:
  void note_metrics(const Header& header) {
    for (const Metric& metric : metrics()) series_.present.push_back(header.at(metric.name) >= 0);
    if (header.at("latency_us") >= 0) series_.present[kLatencyRatio] = true;
    series_.has_alternates = header.at("next") >= 0;
  }

  tl::unexpected<Error> bad(const Header& header, std::size_t column, std::string_view text,
                            const std::string& expected) const {
    return fail(ErrorCode::kBadInput, "{}:{}: {} = '{}': expected {}", source_, line_,
                header.name(column), text, expected);
  }

  Result<double> number(const Header& header, std::size_t column, std::string_view text,
                        double least, double most) const {
    const auto value = parse_double(text);
    if (value && *value >= least && *value <= most) return *value;
    return bad(header, column, text, fmt::format("a number from {:g} to {:g}", least, most));
  }

  Result<void> read_line(const Header& header, std::string_view line) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != header.size())
      return fail(ErrorCode::kBadInput, "{}:{}: {} fields, the header has {}", source_, line_,
                  fields.size(), header.size());
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(header.at(name));
    };
    Sample sample;
    sample.values.resize(metrics().size());
    GEMMSMITH_TRY(sample.t_s, number(header, column("t_s"), fields[column("t_s")], 0, 1e12));
    if (!series_.samples.empty() && sample.t_s < series_.samples.back().t_s)
      return bad(header, column("t_s"), fields[column("t_s")],
                 fmt::format("time to go on from {:g}", series_.samples.back().t_s));
    const auto problem = parse_mnk(std::string(fields[column("shape")]), base_);
    if (!problem)
      return fail(ErrorCode::kBadInput, "{}:{}: {}", source_, line_, problem.error().what);
    sample.problem = *problem;
    for (std::size_t i = 0; i < metrics().size(); ++i) {
      const Metric& metric = metrics()[i];
      if (header.at(metric.name) < 0 || fields[column(metric.name)].empty()) continue;
      // A ratio may be below 1, where a threshold makes no sense.
      const double least = i == kLatencyRatio ? 0 : metric.least;
      GEMMSMITH_TRY(sample.values[i], number(header, column(metric.name),
                                             fields[column(metric.name)], least, metric.most));
    }
    if (header.at("latency_us") >= 0 && !fields[column("latency_us")].empty()) {
      GEMMSMITH_TRY(const double latency_us,
                    number(header, column("latency_us"), fields[column("latency_us")], 0, 1e12));
      GEMMSMITH_TRY(const double promised_us, number(header, column("promised_us"),
                                                     fields[column("promised_us")], 1e-3, 1e12));
      sample.values[kLatencyRatio] = latency_ratio(latency_us, promised_us);
    }
    if (header.at("throttle") >= 0) sample.throttled = is_held_down(fields[column("throttle")]);
    if (header.at("of_left") >= 0) {
      const std::string_view field = fields[column("of_left")];
      if (field != "0" && field != "1") return bad(header, column("of_left"), field, "0 or 1");
      sample.of_left = field == "1";
    }
    const bool is_known =
        std::any_of(series_.plans.begin(), series_.plans.end(),
                    [&](const auto& plan) { return plan.first == sample.problem; });
    if (!is_known) {
      series_.plans.emplace_back(sample.problem, std::string(fields[column("config")]));
      series_.alternates.emplace_back();
      if (series_.has_alternates)
        for (const std::string_view config : split(fields[column("next")], ' '))
          if (!config.empty()) series_.alternates.back().emplace_back(config);
    }
    series_.samples.push_back(std::move(sample));
    return {};
  }

  static constexpr std::size_t kLatencyRatio = 0;  // in metrics()
  const std::string& source_;
  const Problem& base_;
  int line_ = 0;
  Series series_;
};

}  // namespace

Result<Series> parse_series(std::string_view text, const std::string& source, const Problem& base) {
  return SeriesReader(source, base).read(text);
}

Result<Series> read_series(const std::filesystem::path& path, const Problem& base) {
  GEMMSMITH_TRY(const std::string text, read_file(path));
  return parse_series(text, path.string(), base);
}

}  // namespace gemmsmith::monitor
