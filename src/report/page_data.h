// page_data.h -- what the page shows, as JSON for its scripts. Long tables are columns, config
// texts are numbers into one list, and figures keep five digits: a thousand shapes of six hundred
// configs must stay a file that people can mail.
#pragma once

#include <string>

#include "report/html_report.h"

namespace gemmsmith::report {

struct PageData {
  std::string main;    // all that is drawn at once
  std::string spaces;  // every measured config of each shape; parsed when one is looked at
};

PageData make_page_data(std::span<const Measurement> rows, const Scoreboard& board,
                        const ReportContext& context);

}  // namespace gemmsmith::report
