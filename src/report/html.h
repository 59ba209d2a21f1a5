#pragma once

#include <string>

#include "report/view.h"

namespace cb {

// Renders the view as one self-contained HTML file from templates/report.html. Everything is
// escaped except the charts, whose text draw() escapes. The page has no script and fetches nothing.
std::string render_html(const View& view);

}  // namespace cb
