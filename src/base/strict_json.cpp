#include "base/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace gemmsmith {

using nlohmann::json;

Result<json> parse_json(std::string_view text, Comments comments) {
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos)
    return fail(ErrorCode::kBadInput, "a NUL byte at byte {}", at + 1);
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::string twice;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second && twice.empty()) twice = key;
    }
    return true;
  };
  try {
    json value = json::parse(text.begin(), text.end(), watch, true, comments == Comments::kSkipped);
    if (!twice.empty()) return fail(ErrorCode::kBadInput, "the key '{}' is given twice", twice);
    return value;
  } catch (const json::parse_error& error) {
    return fail(ErrorCode::kBadInput, "not JSON: wrong or cut off at byte {}", error.byte);
  } catch (const json::out_of_range&) {
    return fail(ErrorCode::kBadInput, "a number that does not fit");
  }
}

}  // namespace gemmsmith
