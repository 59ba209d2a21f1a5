#include "cli/pair_matrix.h"

#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxPeers = 32;

using Key = std::pair<std::string, std::string>;  // "host:3" → "host:5"

// Sorts numbers in names by value: 2 before 10.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

struct Group {
  std::string unit;
  std::map<Key, double> medians;
  std::set<std::string, ByNumber> names;
};

std::map<std::string, Group> groups_of(const Record& record) {
  std::map<std::string, Group> out;
  for (const Metric& m : record.metrics) {
    const Entity& e = record.entities[m.entity];
    if (e.kind != "pair" || !e.peer) continue;
    const std::string from = e.host + ":" + e.id;
    Group& group = out[m.name];
    group.unit = m.unit;
    group.medians[{from, *e.peer}] = m.samples.summary().median;
    group.names.insert(from);
    group.names.insert(*e.peer);
  }
  return out;
}

std::string table_of(const std::string& name, const Group& group) {
  std::vector<std::vector<std::string>> rows{{name + " from \\ to"}};
  std::vector<bool> right{false};
  for (const std::string& to : group.names) {
    rows[0].push_back(terminal_safe(to));
    right.push_back(true);
  }
  for (const std::string& from : group.names) {
    std::vector<std::string> row{terminal_safe(from)};
    for (const std::string& to : group.names) {
      const auto found = group.medians.find({from, to});
      row.push_back(from == to                     ? "X"
                    : found == group.medians.end() ? "–"
                                                   : format_value(found->second, group.unit));
    }
    rows.push_back(std::move(row));
  }
  return text_table(rows, right);
}

}  // namespace

std::string pair_matrix(const Record& record) {
  std::string out;
  for (const auto& [name, group] : groups_of(record)) {
    if (group.names.size() <= kMaxPeers) out += table_of(name, group);
  }
  return out;
}

}  // namespace cb
