#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/texts.h"

namespace cb {

// A sentence that measurements write into records, in English, with {0} {1} … for what stands in
// it; records are kept for years and read by machines, so they have one language.
struct Phrase {
  std::string_view en;
  std::string_view zh;
};

std::span<const Phrase> all_phrases();

// The text of a record in the reader's language: a known sentence in Chinese, with what stands in
// it translated likewise; anything else as it is.
std::string translated(Lang lang, std::string_view text);

// A judge's message with what records say in it translated.
std::string explained(Lang lang, const std::vector<Message>& messages);

}  // namespace cb
