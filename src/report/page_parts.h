// page_parts.h -- the texts that the build put into the binary: the page's own (src/report/page/)
// and the plotting library's, from its installed package.
#pragma once

#include <string_view>

namespace gemmsmith::report {

// Of a part by its file name ("page.html"); empty for another name.
std::string_view page_part(std::string_view name);

}  // namespace gemmsmith::report
