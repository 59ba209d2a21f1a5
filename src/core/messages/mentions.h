#pragma once

#include <string_view>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// True if the sentence, or one of its arguments, has one of these ids.
bool mentions(const Message& message, const std::vector<std::string_view>& ids);

}  // namespace cb
