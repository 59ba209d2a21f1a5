#pragma once

#include <string>
#include <vector>

#include "judge/compare.h"

// What `clusterbench compare` shows: lines of a terminal, and a page in Markdown.
namespace cb {

// Everything that is not the same, the gravest first, equal things in one line; then a table of
// the hosts with something of it, and the counts. Safe for a terminal.
std::string compare_lines(const Comparison& found);

std::string compare_markdown(const Comparison& found);

std::string compare_json(const Comparison& found);

// "allreduce size 64M dtype bf16".
std::string compare_point(const std::string& step, const Params& params, const CaseInfo* info);

// "2690 figures compared: 0 worse, …", and how many checks, criteria and missing figures beside.
std::string compare_counts(const Comparison& found);

// What the changed figures are about, one row a host: name, worse, better, undecided, lost, failing
// checks; the worst hosts first.
struct HostRow {
  std::string host;
  size_t worse = 0, better = 0, undecided = 0, lost = 0, checks = 0;
};
std::vector<HostRow> compare_hosts_rows(const Comparison& found);

}  // namespace cb
