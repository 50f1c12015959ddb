// The scoreboard for people (terminal, Markdown) and for machines (JSON, CSV).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/scoreboard.h"

namespace gemmsmith::report {
namespace {

using nlohmann::json;

constexpr std::size_t kExtremes = 10;

std::string figure(double ratio) { return ratio > 0 ? fmt::format("{:.3f}", ratio) : "-"; }

using Lines = std::vector<std::vector<std::string>>;

Lines means_lines(const Scoreboard& board) {
  Lines lines = {{"lt_tuned time", "shapes", "raw", "ours and vendor", "served", "raw (foreign)",
                  "ours and vendor (foreign)", "served (foreign)", "raw wins/losses",
                  "served wins/losses"}};
  const auto add = [&](const std::string& bucket, const Means& m) {
    lines.push_back({bucket, std::to_string(m.shapes), figure(m.raw), figure(m.ours_and_vendor),
                     figure(m.served), figure(m.raw_foreign), figure(m.ours_and_vendor_foreign),
                     figure(m.served_foreign), fmt::format("{}/{}", m.raw_wins, m.raw_losses),
                     fmt::format("{}/{}", m.served_wins, m.served_losses)});
  };
  for (const auto& [bucket, means] : board.buckets)
    if (means.shapes > 0) add(bucket, means);
  add("all", board.overall);
  return lines;
}

Lines baseline_lines(const Scoreboard& board) {
  const Means& m = board.overall;
  return {{"served over", "geometric mean"},
          {"cublas", figure(m.served_over_cublas)},
          {"cublas_autotune", figure(m.served_over_autotune)},
          {"lt_first", figure(m.served_over_lt_first)},
          {"lt_tuned", figure(m.served)}};
}

// The extremes of our own kernels: where they are far behind, and where far ahead.
std::vector<const ShapeLine*> extremes(const Scoreboard& board, bool worst) {
  std::vector<const ShapeLine*> lines;
  for (const ShapeLine& line : board.shapes)
    if (line.raw) lines.push_back(&line);
  std::stable_sort(lines.begin(), lines.end(), [&](const ShapeLine* a, const ShapeLine* b) {
    return worst ? a->raw->chained < b->raw->chained : a->raw->chained > b->raw->chained;
  });
  lines.resize(std::min(lines.size(), kExtremes));
  return lines;
}

Lines extreme_lines(const Scoreboard& board, bool worst) {
  Lines lines = {{"shape", "lt_tuned us", "raw", "raw (foreign)", "our kernel", "served"}};
  for (const ShapeLine* line : extremes(board, worst))
    lines.push_back({shape_name(line->problem), fmt::format("{:.2f}", line->lt_tuned_us),
                     figure(line->raw->chained), figure(line->raw->foreign), line->raw->config,
                     figure(line->served.chained)});
  return lines;
}

std::string notes(const Scoreboard& board) {
  std::string text = fmt::format(
      "Geometric means of lt_tuned's paired time over ours: above 1 is faster. Final-stage rows "
      "of {} shapes; {} rows without a result (failed, or not in a recording). A win: in both "
      "settings the 95 % interval is above 1 and the median gain at least 1 %; a loss: in either, "
      "the whole interval is below 0.99. Served, back to back: the plan's follower where it has "
      "one "
      "(it serves right behind another kernel of ours), else the plan; (foreign), wins and losses: "
      "the plan.",
      board.overall.shapes, board.failed);
  if (board.overall.with_ours < board.overall.shapes)
    text += fmt::format(" Raw covers {} of them.", board.overall.with_ours);
  if (board.not_retested > 0)
    text += fmt::format(
        " {} shapes were not tested again in a fresh process: their figures are those they were "
        "chosen by, which flatters them.",
        board.not_retested);
  return text;
}

std::string aligned(const Lines& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i)
      row += fmt::format("{:<{}}  ", line[i], widths[i]);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

std::string markdown(const Lines& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& cell : lines[i]) text += "| " + cell + " ";
    text += "|\n";
    if (i > 0) continue;
    for (std::size_t column = 0; column < lines[i].size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

json to_json(const Means& m) {
  return {{"shapes", m.shapes},
          {"with_ours", m.with_ours},
          {"raw", m.raw},
          {"raw_foreign", m.raw_foreign},
          {"vendor", m.vendor},
          {"vendor_foreign", m.vendor_foreign},
          {"ours_and_vendor", m.ours_and_vendor},
          {"ours_and_vendor_foreign", m.ours_and_vendor_foreign},
          {"served", m.served},
          {"served_foreign", m.served_foreign},
          {"served_over_cublas", m.served_over_cublas},
          {"served_over_cublas_autotune", m.served_over_autotune},
          {"served_over_lt_first", m.served_over_lt_first},
          {"raw_wins", m.raw_wins},
          {"raw_losses", m.raw_losses},
          {"served_wins", m.served_wins},
          {"served_losses", m.served_losses}};
}

json to_json(const std::optional<Side>& side) {
  if (!side) return nullptr;
  return {{"config", side->config},
          {"chained", side->chained},
          {"foreign", side->foreign},
          {"foreign_config", side->foreign_config},
          {"chained_us", side->chained_us}};
}

json to_json(const ShapeLine& line) {
  json baselines = json::object();
  for (const auto& [kind, ratio] : line.baselines) baselines[name(kind)] = ratio;
  // One config serves in both settings; the follower's, back to back, stands beside it.
  json served = to_json(std::optional<Side>(line.served));
  served.erase("foreign_config");
  served["follower"] = line.follower.empty() ? json(nullptr) : json(line.follower);
  return {{"m", line.problem.m},
          {"n", line.problem.n},
          {"k", line.problem.k},
          {"batch", line.problem.batch},
          {"type", name(line.problem.type)},
          {"acc", name(line.problem.accumulator)},
          {"layout", name(line.problem.layout)},
          {"lt_tuned_us", line.lt_tuned_us},
          {"raw", to_json(line.raw)},
          {"vendor", to_json(line.vendor)},
          {"ours_and_vendor", to_json(line.ours_and_vendor)},
          {"served", served},
          {"served_kind", name(line.served_kind)},
          {"served_wins", line.served_wins},
          {"served_lost", line.served_loses},
          {"retested", line.retested},
          {"lt_tuned_over", baselines}};
}

template <class Format>
std::string sections(const Scoreboard& board, const char* heading, Format format) {
  std::string text;
  const auto add = [&](const char* title, const Lines& lines) {
    text += fmt::format("{}{}\n\n{}\n", heading, title, format(lines));
  };
  text += notes(board) + "\n\n";
  add("Against lt_tuned", means_lines(board));
  add("Against the other baselines", baseline_lines(board));
  add("Worst ten of our kernels", extreme_lines(board, true));
  add("Best ten of our kernels", extreme_lines(board, false));
  return text;
}

std::string csv_side(const std::optional<Side>& side) {
  if (!side) return ",,";
  return fmt::format("{},{:.4f},{:.4f}", side->config, side->chained, side->foreign);
}

}  // namespace

std::string to_text(const Scoreboard& board) { return sections(board, "", aligned); }
std::string to_markdown(const Scoreboard& board) { return sections(board, "## ", markdown); }

std::string to_json(const Scoreboard& board) {
  json buckets = json::array();
  for (const auto& [bucket, means] : board.buckets)
    buckets.push_back({{"lt_tuned_time", bucket}, {"means", to_json(means)}});
  json shapes = json::array();
  for (const ShapeLine& line : board.shapes) shapes.push_back(to_json(line));
  const json object = {{"overall", to_json(board.overall)},
                       {"buckets", buckets},
                       {"failed_rows", board.failed},
                       {"not_retested", board.not_retested},
                       {"shapes", shapes}};
  return object.dump(1) + '\n';
}

std::string to_csv(const Scoreboard& board) {
  std::string text =
      "m,n,k,type,acc,layout,lt_tuned_us,cublas,cublas_autotune,lt_first,raw_config,raw,"
      "raw_foreign,vendor_config,vendor,vendor_foreign,served_kind,served_config,served,"
      "served_foreign,served_lost,retested,batch,impossible_floor_us,expected_floor_us,"
      "served_follower\n";
  for (const ShapeLine& line : board.shapes) {
    const auto baseline = [&](Kind kind) {
      const auto found = line.baselines.find(kind);
      return found == line.baselines.end() ? std::string() : fmt::format("{:.4f}", found->second);
    };
    const auto floor = [](double us) { return us > 0 ? fmt::format("{:.3f}", us) : std::string(); };
    text += fmt::format("{},{},{},{},{},{},{:.3f},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                        line.problem.m, line.problem.n, line.problem.k, name(line.problem.type),
                        name(line.problem.accumulator), name(line.problem.layout), line.lt_tuned_us,
                        baseline(Kind::kCublas), baseline(Kind::kCublasAutotune),
                        baseline(Kind::kLtFirst), csv_side(line.raw), csv_side(line.vendor),
                        name(line.served_kind), csv_side(line.served), line.served_loses ? 1 : 0,
                        line.retested ? 1 : 0, line.problem.batch, floor(line.impossible_floor_us),
                        floor(line.expected_floor_us), line.follower);
  }
  return text;
}

}  // namespace gemmsmith::report
