#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Number of single-character insertions, deletions, substitutions and swaps that turn a into b.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to word, if one is near enough to be meant.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// "fp61 is not known, did you mean fp64? (fp64 fp32 …)": the wording used everywhere for an unknown
// name.
std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cb
