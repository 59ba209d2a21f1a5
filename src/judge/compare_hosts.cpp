#include "judge/compare_hosts.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/suggest.h"
#include "core/text.h"

namespace cb {
namespace {

using Identities = std::set<std::string>;

// Returns the serial numbers and UUIDs of a host's parts: they stay when the host is renamed.
Identities identities_of(const HostInventory& host) {
  Identities out;
  for (const Part& part : host.parts) {
    for (const char* name : {"serial", "uuid"}) {
      if (const auto text = text_of(&part, name)) out.insert(part.kind + " " + *text);
    }
  }
  return out;
}

const HostInventory* inventory_of(const Campaign& c, const std::string& host) {
  const auto found = std::ranges::find(c.inventories, host, &HostInventory::host);
  return found == c.inventories.end() ? nullptr : &*found;
}

size_t shared(const Identities& a, const Identities& b) {
  return static_cast<size_t>(
      std::ranges::count_if(a, [&](const std::string& one) { return b.contains(one); }));
}

// Returns every host that a campaign asked for or has figures of.
std::set<std::string> hosts_of(const Campaign& c) {
  std::set<std::string> out(c.hosts.begin(), c.hosts.end());
  for (const HostInventory& host : c.inventories) out.insert(host.host);
  for (const Job& job : c.jobs) {
    if (!job.document) continue;
    for (const Record& record : job.document->records) {
      for (const Entity& e : record.entities) {
        if (!e.host.empty()) out.insert(e.host);
      }
    }
  }
  return out;
}

void apply_map(HostMatch& match, const std::vector<MappedHost>& map, std::set<std::string>& before,
               std::set<std::string>& after) {
  Problems problems;
  const auto take = [&](std::set<std::string>& hosts, const std::string& host, const char* which) {
    if (hosts.erase(host) > 0) return;
    problems.add("--map", fmt::format("{}: the {} campaign has no such host, or it is named twice",
                                      terminal_safe(host), which));
  };
  for (const MappedHost& pair : map) {
    take(before, pair.before, "earlier");
    if (!pair.after.empty()) take(after, pair.after, "later");
    if (pair.after.empty() && after.contains(pair.before))
      problems.add("--map", fmt::format("{} is not gone: the later campaign has it",
                                        terminal_safe(pair.before)));
    match.renamed.push_back({pair.before, pair.after, "--map"});
    if (!pair.after.empty()) match.names[pair.before] = pair.after;
  }
  if (!problems.empty()) throw UsageError("clusterbench compare", problems);
}

void match_names(HostMatch& match, std::set<std::string>& before, std::set<std::string>& after) {
  for (auto host = before.begin(); host != before.end();) {
    if (after.erase(*host) == 0) {
      ++host;
      continue;
    }
    match.names[*host] = *host;
    host = before.erase(host);
  }
}

// Finds the later host that shares more than half of the pieces that either host has. At most one
// host can.
std::optional<MappedHost> by_pieces(const std::string& host, const Campaign& before,
                                    const std::set<std::string>& left, const Campaign& after) {
  const HostInventory* own = inventory_of(before, host);
  if (own == nullptr) return std::nullopt;
  const Identities pieces = identities_of(*own);
  for (const std::string& name : left) {
    const HostInventory* other = inventory_of(after, name);
    if (other == nullptr) continue;
    const Identities theirs = identities_of(*other);
    const size_t same = shared(pieces, theirs);
    if (2 * same > std::max(pieces.size(), theirs.size()))
      return MappedHost{host, name, fmt::format("{} of its serial numbers are the same", same)};
  }
  return std::nullopt;
}

void match_pieces(HostMatch& match, const Campaign& a, const Campaign& b,
                  std::set<std::string>& before, std::set<std::string>& after) {
  for (auto host = before.begin(); host != before.end();) {
    const auto pair = by_pieces(*host, a, after, b);
    if (!pair) {
      ++host;
      continue;
    }
    match.renamed.push_back(*pair);
    match.names[pair->before] = pair->after;
    after.erase(pair->after);
    host = before.erase(host);
  }
}

const Part* gpu_with(const HostInventory& host, const char* attribute, const Part& like) {
  const auto wanted = text_of(&like, attribute);
  if (!wanted) return nullptr;
  for (const Part* part : host.all("gpu")) {
    if (text_of(part, attribute) == wanted) return part;
  }
  return nullptr;
}

std::string piece_of(const Part& part) {
  if (const auto uuid = text_of(&part, "uuid")) return *uuid;
  return text_of(&part, "serial").value_or("");
}

// Matches the same GPU by its UUID, wherever it is in the host now; otherwise the GPU in the same
// slot or with the same index.
void match_gpus(HostMatch& match, const HostInventory& before, const HostInventory& after) {
  std::set<const Part*> taken;
  std::vector<const Part*> left;
  const auto join = [&](const Part& old, const Part* now) {
    taken.insert(now);
    const auto from = text_of(&old, "index"), to = text_of(now, "index");
    if (from && to) match.gpus[{before.host, *from}] = *to;
  };
  for (const Part* part : before.all("gpu")) {
    const Part* now = gpu_with(after, "uuid", *part);
    if (now != nullptr)
      join(*part, now);
    else
      left.push_back(part);
  }
  for (const Part* part : left) {
    const Part* now = gpu_with(after, "pci_address", *part);
    if (now == nullptr || taken.contains(now)) now = gpu_with(after, "index", *part);
    if (now == nullptr || taken.contains(now)) continue;
    join(*part, now);
    if (!piece_of(*part).empty() && !piece_of(*now).empty())
      match.exchanged.push_back(
          {fmt::format("gpu {}:{}", after.host, text_of(now, "index").value_or(now->id)),
           piece_of(*part), piece_of(*now)});
  }
}

void match_parts(HostMatch& match, const Campaign& a, const Campaign& b) {
  for (const auto& [name, now] : match.names) {
    const HostInventory* before = inventory_of(a, name);
    const HostInventory* after = inventory_of(b, now);
    if (before == nullptr || after == nullptr) continue;
    const auto old_serial = text_of(before->find("system"), "serial");
    const auto new_serial = text_of(after->find("system"), "serial");
    if (old_serial && new_serial && old_serial != new_serial)
      match.exchanged.push_back({"host " + now, *old_serial, *new_serial});
    match_gpus(match, *before, *after);
  }
}

// Returns the host at the front of "n2:mlx5_0", "n2 rank 3" or "n2".
std::string host_in(const std::string& peer) { return peer.substr(0, peer.find_first_of(": ")); }

}  // namespace

std::string HostMatch::after(const std::string& host) const {
  const auto found = names.find(host);
  return found == names.end() ? host : found->second;
}

Entity HostMatch::after(const Entity& before) const {
  Entity out = before;
  out.host = after(before.host);
  if (before.kind == "gpu") {
    const auto found = gpus.find({before.host, before.id});
    if (found != gpus.end()) out.id = found->second;
  }
  if (before.kind == "host" && before.id == before.host) out.id = out.host;
  if (before.peer) {
    const std::string host = host_in(*before.peer);
    out.peer = after(host) + before.peer->substr(host.size());
  }
  return out;
}

bool HostMatch::dropped(const Entity& before) const {
  return std::ranges::any_of(renamed, [&](const MappedHost& pair) {
    return pair.after.empty() &&
           (pair.before == before.host || (before.peer && host_in(*before.peer) == pair.before));
  });
}

std::string HostMatch::gone_host(const Entity& before) const {
  const auto is_gone = [&](const std::string& host) {
    return std::ranges::find(gone, host) != gone.end();
  };
  if (is_gone(before.host)) return before.host;
  return before.peer && is_gone(host_in(*before.peer)) ? host_in(*before.peer) : "";
}

HostMatch match_hosts(const Campaign& before, const Campaign& after,
                      const std::vector<MappedHost>& map) {
  HostMatch match;
  std::set<std::string> left_before = hosts_of(before), left_after = hosts_of(after);
  apply_map(match, map, left_before, left_after);
  match_names(match, left_before, left_after);
  match_pieces(match, before, after, left_before, left_after);
  match.gone.assign(left_before.begin(), left_before.end());
  match.fresh.assign(left_after.begin(), left_after.end());
  match_parts(match, before, after);
  return match;
}

std::vector<MappedHost> parse_host_map(const std::vector<std::string>& texts,
                                       const std::string& where, Problems& problems) {
  std::vector<MappedHost> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      problems.add(where, fmt::format("'{}' is not OLD=NEW", terminal_safe(text)));
    else
      out.push_back({text.substr(0, equals), text.substr(equals + 1), "--map"});
  }
  return out;
}

}  // namespace cb
