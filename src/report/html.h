#pragma once

#include <string>

#include "report/view.h"

namespace cb {

// The view as one self-contained HTML file: templates/report.html with everything escaped but the
// charts, whose text draw() escapes. No script, nothing fetched.
std::string render_html(const View& view);

}  // namespace cb
