#include "campaign/hosts.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxHosts = 100000;
constexpr int64_t kMaxSlots = 4096;

std::vector<std::string> split(std::string_view text, char at, bool outside_brackets) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == at && (!outside_brackets || depth <= 0))
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (!space) word += c;
    if (space && !word.empty()) out.push_back(std::move(word)), word.clear();
  }
  if (!word.empty()) out.push_back(word);
  return out;
}

std::optional<int64_t> digits(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return parse_integer(text);
}

// Expands "001-128" to its members. They keep the width of the first number.
bool expand_range(const std::string& range, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const auto low = digits(first);
  const auto high = dash == std::string::npos ? low : digits(range.substr(dash + 1));
  if (!low || !high || *low > *high || static_cast<size_t>(*high - *low) > kMaxHosts) return false;
  for (int64_t i = *low; i <= *high; ++i) out.push_back(fmt::format("{:0{}}", i, first.size()));
  return true;
}

bool expand_one(const std::string& text, std::vector<std::string>& out) {
  const size_t open = text.find('[');
  if (open == std::string::npos) {
    out.push_back(text);
    return text.find(']') == std::string::npos;
  }
  const size_t close = text.find(']', open);
  if (close == std::string::npos) return false;
  std::vector<std::string> middles, tails;
  for (const std::string& range : split(text.substr(open + 1, close - open - 1), ',', false)) {
    if (!expand_range(range, middles)) return false;
  }
  if (!expand_one(text.substr(close + 1), tails)) return false;
  if (middles.size() * tails.size() > kMaxHosts) return false;
  for (const std::string& middle : middles) {
    for (const std::string& tail : tails) out.push_back(text.substr(0, open) + middle + tail);
  }
  return true;
}

std::string too_many() { return fmt::format("names more than {} hosts", kMaxHosts); }

// Hosts in the order in which they were named first; a host that is named again gets more slots.
class HostList {
 public:
  bool empty() const { return hosts_.empty(); }
  bool has_room(size_t more) const { return hosts_.size() + more <= kMaxHosts; }
  // Returns false if the host would have more slots than one can have.
  bool add(const std::string& name, int slots) {
    const auto [found, fresh] = place_.emplace(name, hosts_.size());
    if (fresh) {
      hosts_.push_back({name, slots});
      return true;
    }
    HostSlots& host = hosts_[found->second];
    if (!is_slot_count(int64_t{host.slots} + slots)) return false;
    host.slots += slots;
    return true;
  }
  std::vector<HostSlots> take() { return std::move(hosts_); }

 private:
  std::vector<HostSlots> hosts_;
  std::unordered_map<std::string, size_t> place_;  // by name, in hosts_
};

int parse_slots(const std::string& text, const std::string& where, Problems& problems) {
  const auto slots = digits(text);
  if (slots && is_slot_count(*slots)) return static_cast<int>(*slots);
  problems.add(where, fmt::format("'{}' is not a number of slots from 1 to {}", terminal_safe(text),
                                  kMaxSlots));
  return 1;
}

void add_hosts(HostList& hosts, const std::string& text, const std::string& where,
               Problems& problems) {
  if (!problems.empty() && !hosts.has_room(1)) return;  // said already
  const size_t colon = text.rfind(':');
  const bool has_slots = colon != std::string::npos;
  const int slots = has_slots ? parse_slots(text.substr(colon + 1), where, problems) : 1;
  const std::vector<std::string> names = expand_node_list(text.substr(0, colon), where, problems);
  if (!hosts.has_room(names.size())) return problems.add(where, too_many());
  for (const std::string& name : names) {
    if (!hosts.add(name, slots))
      return problems.add(where, fmt::format("{} has more than {} slots in all", name, kMaxSlots));
  }
}

// Parses "host", "host:8", "node[01-16]" or "host slots=8 max_slots=8".
void parse_line(const std::string& line, const std::string& where, HostList& hosts,
                Problems& problems) {
  const std::vector<std::string> parts = words(line.substr(0, line.find('#')));
  if (parts.empty()) return;
  std::string entry = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].starts_with("slots="))
      entry += ":" + parts[i].substr(6);
    else if (!parts[i].starts_with("max_slots=") && !parts[i].starts_with("max-slots="))
      problems.add(
          where, fmt::format("'{}' is not known, did you mean slots=N?", terminal_safe(parts[i])));
  }
  for (const std::string& single : split(entry, ',', true))
    add_hosts(hosts, single, where, problems);
}

// Expands "2(x3),1" to 2 2 2 1.
std::vector<int> expand_counts(const std::string& text, const std::string& where,
                               Problems& problems) {
  std::vector<int> out;
  for (const std::string& part : split(text, ',', false)) {
    const size_t open = part.find("(x");
    const int slots = parse_slots(part.substr(0, open), where, problems);
    int64_t times = 1;
    if (open != std::string::npos)
      times = digits(part.substr(open + 2, part.size() - open - 3)).value_or(0);
    if (times < 1 || static_cast<size_t>(times) > kMaxHosts - std::min(kMaxHosts, out.size()))
      problems.add(where, fmt::format("'{}' cannot be understood", terminal_safe(part)));
    else
      out.insert(out.end(), static_cast<size_t>(times), slots);
  }
  return out;
}

}  // namespace

// A host's name becomes part of file names and command lines, so it is refused rather than quoted.
bool is_host_name(const std::string& name) {
  if (name.empty() || name.size() > 253 || name[0] == '-' || name[0] == '.') return false;
  return name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "._-") == std::string::npos;
}

bool is_slot_count(int64_t slots) { return slots >= 1 && slots <= kMaxSlots; }

std::vector<std::string> expand_node_list(std::string_view text, const std::string& where,
                                          Problems& problems) {
  std::vector<std::string> out;
  for (const std::string& part : split(text, ',', true)) {
    std::vector<std::string> names;
    if (!expand_one(part, names)) {
      problems.add(where,
                   fmt::format("'{}' is not a list such as node[001-128]", terminal_safe(part)));
      continue;
    }
    if (out.size() + names.size() > kMaxHosts) {
      problems.add(where, too_many());
      return out;
    }
    for (const std::string& name : names) {
      if (is_host_name(name))
        out.push_back(name);
      else
        problems.add(where, fmt::format("'{}' is not a host name", terminal_safe(name)));
    }
  }
  return out;
}

std::vector<HostSlots> parse_hosts(std::string_view text) {
  Problems problems;
  HostList hosts;
  for (const std::string& part : split(text, ',', true))
    add_hosts(hosts, part, "--hosts", problems);
  if (!problems.empty()) throw UsageError("clusterbench run", problems);
  return hosts.take();
}

std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& source) {
  Problems problems;
  HostList hosts;
  size_t line = 0;
  for (const std::string& content : split(text, '\n', false))
    parse_line(content, fmt::format("line {}", ++line), hosts, problems);
  if (hosts.empty() && problems.empty()) problems.add("", "names no host");
  if (!problems.empty()) throw UsageError(source, problems);
  return hosts.take();
}

std::optional<std::vector<HostSlots>> slurm_hosts(const Environment& environment) {
  const auto list = environment("SLURM_JOB_NODELIST");
  if (!environment("SLURM_JOB_ID") || !list) return std::nullopt;
  Problems problems;
  std::vector<HostSlots> hosts;
  for (const std::string& name : expand_node_list(*list, "SLURM_JOB_NODELIST", problems))
    hosts.push_back({name, 1});
  const char* name =
      environment("SLURM_TASKS_PER_NODE") ? "SLURM_TASKS_PER_NODE" : "SLURM_JOB_CPUS_PER_NODE";
  if (const auto counts = environment(name)) {
    const std::vector<int> slots = expand_counts(*counts, name, problems);
    if (problems.empty() && slots.size() != hosts.size())
      problems.add(name, fmt::format("is for {} hosts, SLURM_JOB_NODELIST has {}", slots.size(),
                                     hosts.size()));
    for (size_t i = 0; problems.empty() && i < hosts.size(); ++i) hosts[i].slots = slots[i];
  }
  if (!problems.empty()) throw UsageError("Slurm allocation", problems);
  return hosts;
}

}  // namespace cb
