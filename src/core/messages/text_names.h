#pragma once

#include <span>

#include "core/messages/texts.h"

namespace cb {

// Rows metric.NAME and attribute.NAME, part of all_texts().
std::span<const TextRow> name_texts();

}  // namespace cb
