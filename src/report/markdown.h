#pragma once

#include <string>
#include <string_view>

#include "report/view.h"

namespace cb {

// Renders the view as GitHub-flavoured Markdown. Only the captions of charts appear.
std::string render_markdown(const View& view);

// Turns any text into plain text for a Markdown paragraph or table cell: nothing in it is markup, a
// link, HTML or the end of a cell.
std::string markdown_escape(std::string_view text);

}  // namespace cb
