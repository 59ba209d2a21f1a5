#include "core/ceiling.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cb {
namespace {

// The ids of their sentences: some do not begin with the word.
constexpr std::array<std::string_view, 6> kMeasured{
    "cg.ceiling",         "infer.prefill_ceiling", "infer.decode_ceiling",
    "infer.read_ceiling", "train.predicted",       "train.predicted_by_parts"};

}  // namespace

bool is_measured(const Ceiling& ceiling) {
  const std::string& id = ceiling.how.message().id;
  return std::ranges::find(kMeasured, std::string_view(id)) != kMeasured.end() ||
         id.starts_with("lu.ceiling") || ceiling.how.text().starts_with("measured");
}

}  // namespace cb
