#pragma once

#include <span>

#include "core/messages/texts.h"

namespace cb {

// Rows why.*, gap.* and need.*, part of all_texts().
std::span<const TextRow> reason_texts();

}  // namespace cb
