#pragma once

#include <string>
#include <string_view>

#include "report/view.h"

namespace cb {

// The view as GitHub-flavoured Markdown. Charts are given as their captions.
std::string render_markdown(const View& view);

// Text from anywhere as plain text inside a Markdown paragraph or table cell: nothing in it is
// markup, a link, HTML or a cell's end.
std::string markdown_escape(std::string_view text);

}  // namespace cb
