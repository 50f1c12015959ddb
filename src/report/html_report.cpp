// Puts the page together from its parts. Whatever came from a file (config texts, commands, names)
// enters as JSON alone, which the scripts show as text, so none of it can be markup.
#include "report/html_report.h"

#include "report/page_data.h"
#include "report/page_parts.h"

namespace gemmsmith::report {
namespace {

// The HTML parser looks for "</script" and "<!--" inside scripts, strings or not.
std::string for_script(std::string json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string to_html(std::span<const Measurement> rows, const Scoreboard& board,
                    const ReportContext& context) {
  const PageData data = make_page_data(rows, board, context);
  const std::string main = for_script(data.main);
  const std::string spaces = for_script(data.spaces);
  const auto value = [&](std::string_view name) -> std::string_view {
    if (name == "data") return main;
    if (name == "spaces") return spaces;
    return page_part(name);
  };
  // "{{name}}" in page.html stands for a part. One pass: what was put in is not looked at again.
  std::string html;
  std::string_view rest = page_part("page.html");
  while (true) {
    const std::size_t open = rest.find("{{");
    html += rest.substr(0, open);
    if (open == std::string_view::npos) return html;
    rest.remove_prefix(open + 2);
    const std::size_t close = rest.find("}}");
    html += value(rest.substr(0, close));
    rest.remove_prefix(close + 2);
  }
}

}  // namespace gemmsmith::report
