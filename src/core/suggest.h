#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Number of single-character insertions, deletions, substitutions and swaps that turn a into b.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is meant, upper and lower case being the same: the shortest that begins with
// the word, else the nearest in which at most one letter, or one in three, is another, else the
// longest with which the word begins.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// The option of `known` ("--block-size") that is meant: what fio, nccl-tests, perftest or iperf3
// call otherwise ("--bs", "-b"), else the nearest.
std::optional<std::string> nearest_option(std::string_view option,
                                          const std::vector<std::string>& known);

// "fp61 is not known, did you mean fp64? (fp64 fp32 …)": the wording used everywhere for an unknown
// name.
std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates);

// "unknown option, did you mean --size?": likewise of an option.
std::string unknown_option(std::string_view option, const std::vector<std::string>& known);

}  // namespace cb
