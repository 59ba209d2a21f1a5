#include "sys/os/process_family.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace cb {
namespace {

// The parent, which is the second word behind the name in parentheses (proc(5)). The name may hold
// blanks and parentheses.
int parent_in(const std::string& stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return -1;
  std::istringstream words(stat.substr(end + 1));
  std::string state;
  int parent = -1;
  words >> state >> parent;
  return parent;
}

}  // namespace

std::set<int> process_family(const FsRoot& fs, int pid) {
  std::multimap<int, int> children;
  bool there = false;
  for (const std::string& name : fs.entries("/proc")) {
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const auto stat = fs.text("/proc/" + name + "/stat");
    if (!stat) continue;  // it has ended meanwhile
    const int one = std::stoi(name);
    there |= one == pid;
    children.emplace(parent_in(*stat), one);
  }
  std::set<int> out;
  std::vector<int> open = there ? std::vector<int>{pid} : std::vector<int>();
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (!out.insert(next).second) continue;
    const auto [begin, end] = children.equal_range(next);
    for (auto it = begin; it != end; ++it) open.push_back(it->second);
  }
  return out;
}

}  // namespace cb
