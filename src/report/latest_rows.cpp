#include "report/latest_rows.h"

#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

namespace gemmsmith::report {

std::vector<Measurement> latest_rows(std::vector<std::vector<Measurement>> recordings) {
  struct Latest {
    std::size_t recording = 0;
    std::vector<Measurement> rows;
  };
  std::unordered_map<std::string, std::size_t> places;
  std::vector<Latest> problems;
  for (std::size_t i = 0; i < recordings.size(); ++i)
    for (Measurement& row : recordings[i]) {
      const auto [place, is_new] = places.emplace(describe(row.problem), problems.size());
      if (is_new) problems.push_back({i, {}});
      Latest& latest = problems[place->second];
      if (latest.recording != i) latest = {i, {}};
      latest.rows.push_back(std::move(row));
    }
  std::vector<Measurement> rows;
  for (Latest& latest : problems)
    std::move(latest.rows.begin(), latest.rows.end(), std::back_inserter(rows));
  return rows;
}

}  // namespace gemmsmith::report
