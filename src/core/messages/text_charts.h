#pragma once

#include <span>

#include "core/messages/texts.h"

namespace cb {

// Rows chart.*, figures.*, train_part.* and col.*, part of all_texts().
std::span<const TextRow> chart_texts();

}  // namespace cb
