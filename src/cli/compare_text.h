#pragma once

#include <string>
#include <vector>

#include "judge/compare.h"

// The texts of `clusterbench compare`: lines for a terminal, a page in Markdown, and JSON.
namespace cb {

// Shows everything that is not the same, the gravest first, equal things in one line. Then comes a
// table of the hosts concerned, and the counts. Safe for a terminal.
std::string compare_lines(const Comparison& found);

std::string compare_markdown(const Comparison& found);

std::string compare_json(const Comparison& found);

// "allreduce size 64M dtype bf16".
std::string compare_point(const std::string& step, const Params& params, const CaseInfo* info);

// "2690 compared: 0 worse, …" and, if there are any, the numbers of missing figures, checks and
// criteria.
std::string compare_counts(const Comparison& found);

// How many changes concern one host: worse, better and undecided figures, lost ones, failing
// checks. The worst hosts come first.
struct HostRow {
  std::string host;
  size_t worse = 0, better = 0, undecided = 0, lost = 0, checks = 0;
};
std::vector<HostRow> compare_hosts_rows(const Comparison& found);

}  // namespace cb
