#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Returns the number of single-character insertions, deletions, substitutions and swaps that turn a
// into b.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate that the user probably means, ignoring case: the shortest that begins with
// the word, else the nearest in which at most one letter, or one in three, differs, else the
// longest with which the word begins.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// Returns the option of `known` ("--block-size") that the user probably means: our name for an
// option of fio, nccl-tests, perftest or iperf3 ("--bs", "-b"), else the nearest.
std::optional<std::string> nearest_option(std::string_view option,
                                          const std::vector<std::string>& known);

// Returns "fp61 is not known, did you mean fp64? (fp64 fp32 …)": the wording for every unknown
// name.
std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates);

// Returns "unknown option, did you mean --size?": the wording for every unknown option.
std::string unknown_option(std::string_view option, const std::vector<std::string>& known);

}  // namespace cb
