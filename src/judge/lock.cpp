// A profile of what accepted hosts are: its criteria are of the kind `expect`.
#include "judge/lock.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
#include "core/letters.h"
#include "judge/pieces.h"
#include "judge/version_order.h"

namespace cb {
namespace {

using nlohmann::json;

enum class Locks {
  equal,     // one of the values that there are
  floor,     // a version: the oldest
  at_least,  // a number: the smallest
  nearly     // a number: the smallest less one per cent
};

struct LockedAttribute {
  const char* kind;
  const char* name;
  Locks how;
};

constexpr std::array kLocked{LockedAttribute{"system", "product", Locks::equal},
                             LockedAttribute{"system", "bios_version", Locks::floor},
                             LockedAttribute{"cpu", "model", Locks::equal},
                             LockedAttribute{"cpu", "sockets", Locks::equal},
                             LockedAttribute{"cpu", "cores", Locks::equal},
                             LockedAttribute{"memory", "total_bytes", Locks::nearly},
                             LockedAttribute{"memory", "modules", Locks::equal},
                             LockedAttribute{"gpu", "model", Locks::equal},
                             LockedAttribute{"gpu", "memory_bytes", Locks::nearly},
                             LockedAttribute{"gpu", "vbios", Locks::floor},
                             LockedAttribute{"gpu", "driver_version", Locks::floor},
                             LockedAttribute{"rdma", "board_id", Locks::equal},
                             LockedAttribute{"rdma", "hca_type", Locks::equal},
                             LockedAttribute{"rdma", "firmware", Locks::floor},
                             LockedAttribute{"rdma", "link_layer", Locks::equal},
                             LockedAttribute{"rdma", "rate_bits_per_second", Locks::at_least},
                             LockedAttribute{"nvme", "model", Locks::equal},
                             LockedAttribute{"nvme", "firmware", Locks::floor},
                             LockedAttribute{"nvme", "size_bytes", Locks::nearly},
                             LockedAttribute{"library", "version", Locks::floor},
                             LockedAttribute{"driver", "version", Locks::floor}};

constexpr std::array kCounted{"gpu", "rdma", "nvme"};
constexpr double kFirmwareShare = 0.99;  // firmware and kernel reserve some memory more or less

// Values of one attribute over all hosts, and the hosts that did not tell it.
struct LockedValues {
  std::vector<Attribute> values = {};
  std::set<std::string> untold = {};
};

// Parts of libraries and drivers are compared by their id, all others by their kind.
std::string locked_name(const Part& part, const std::string& attribute) {
  const bool by_id = part.kind == "library" || part.kind == "driver";
  return by_id ? fmt::format("{}[{}].{}", part.kind, part.id, attribute)
               : fmt::format("{}.{}", part.kind, attribute);
}

std::map<std::string, LockedValues> values_of(const std::vector<HostInventory>& hosts,
                                              const LockedAttribute& locked) {
  std::map<std::string, LockedValues> out;
  std::map<std::string, std::set<std::string>> told_by;
  for (const HostInventory& host : hosts) {
    for (const Part* part : host.all(locked.kind)) {
      LockedValues& values = out[locked_name(*part, locked.name)];
      const auto found = part->attributes.find(locked.name);
      if (found == part->attributes.end() || attribute_text(found->second).empty()) {
        values.untold.insert(host.host);
        continue;
      }
      values.values.push_back(found->second);
      told_by[locked_name(*part, locked.name)].insert(host.host);
    }
  }
  for (auto& [name, values] : out) {
    for (const HostInventory& host : hosts) {
      if (!told_by[name].contains(host.host)) values.untold.insert(host.host);
    }
  }
  return out;
}

json value_json(const Attribute& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}

json any_of(const std::vector<Attribute>& values) {
  const std::set<Attribute> different(values.begin(), values.end());
  if (different.size() == 1) return value_json(*different.begin());
  json out = json::array();
  for (const Attribute& value : different) out.push_back(value_json(value));
  return out;
}

// What has no order, as "N/A" beside "28.39", is locked as it is: as a floor it would let all pass.
json oldest(const std::vector<Attribute>& values) {
  std::string out = attribute_text(values.front());
  const bool numbered = std::ranges::all_of(values, [](const Attribute& value) {
    return attribute_text(value).find_first_of("0123456789") != std::string::npos;
  });
  for (const Attribute& value : values) {
    const std::string text = attribute_text(value);
    const auto order = version_order(text, out);
    if (!numbered || !order) return any_of(values);
    if (*order < 0) out = text;
  }
  return ">=" + out;
}

// A floor of zero would let all pass: values that are zero, or no numbers, are locked as they are.
json smallest(const std::vector<Attribute>& values, double share) {
  std::optional<double> out;
  for (const Attribute& value : values) {
    const auto* i = std::get_if<int64_t>(&value);
    const auto* d = std::get_if<double>(&value);
    if (i == nullptr && d == nullptr) return any_of(values);
    const double number = i != nullptr ? static_cast<double>(*i) : *d;
    if (!(number > 0)) return any_of(values);
    out = std::min(out.value_or(number), number);
  }
  return fmt::format(">={:.0f}", *out * share);
}

json wanted_of(const std::vector<Attribute>& values, Locks how) {
  switch (how) {
    case Locks::floor:
      return oldest(values);
    case Locks::at_least:
      return smallest(values, 1);
    case Locks::nearly:
      return smallest(values, kFirmwareShare);
    case Locks::equal:
      break;
  }
  return any_of(values);
}

json expected_of(const std::vector<HostInventory>& hosts, std::vector<std::string>& left_out) {
  json out = json::object();
  for (const char* kind : kCounted) {
    std::vector<Attribute> counts;
    for (const HostInventory& host : hosts)
      counts.emplace_back(static_cast<int64_t>(host.all(kind).size()));
    if (std::ranges::any_of(counts, [](const Attribute& a) { return std::get<int64_t>(a) > 0; }))
      out[fmt::format("{}.count", kind)] = any_of(counts);
  }
  for (const LockedAttribute& locked : kLocked) {
    for (const auto& [name, values] : values_of(hosts, locked)) {
      if (values.untold.empty())
        out[name] = wanted_of(values.values, locked.how);
      else
        left_out.push_back(fmt::format("{} ({})", name, *values.untold.begin()));
    }
  }
  return out;
}

// Kinds with a piece that cannot be listed: an unlisted piece of a listed kind would never be as
// locked.
std::set<std::string> unlistable_kinds(const std::vector<Piece>& pieces,
                                       std::vector<std::string>& left_out) {
  std::set<std::string> out;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Piece& piece : pieces) {
    const auto leave = [&](const std::string& why) {
      out.insert(piece.kind);
      left_out.push_back(fmt::format("{} {} {}: {}; so no {} is listed by its serial number",
                                     piece.host, piece.kind, piece.slot, why, piece.kind));
    };
    if (piece.serial.empty())
      leave(piece.why.text());
    else if (!seen.insert({piece.kind, in_small_letters(piece.serial)}).second)
      leave(fmt::format("the serial number {} is there twice", piece.serial));
  }
  return out;
}

json assets_of(const std::vector<HostInventory>& hosts, std::vector<std::string>& left_out) {
  json out = json::array();
  const std::vector<Piece> pieces = pieces_of(hosts);
  const std::set<std::string> unlistable = unlistable_kinds(pieces, left_out);
  for (const Piece& piece : pieces) {
    if (unlistable.contains(piece.kind)) continue;
    out.push_back({{"host", piece.host}, {"part", piece.kind}, {"serial", piece.serial}});
    if (piece.slot.find(':') != std::string::npos) out.back()["slot"] = piece.slot;
  }
  return out;
}

json criterion_json(const char* id, const char* key, json value, size_t hosts,
                    const std::string& day) {
  return {{"id", id},
          {"step", "info"},
          {"domain", "host"},
          {key, std::move(value)},
          {"why", {{"en", "The hosts are what was accepted."}, {"zh", "主机与已验收的状态一致。"}}},
          {"source",
           {{"kind", "measured"},
            {"date", day},
            {"ref",
             {{"en", fmt::format("the inventories of {} accepted hosts", hosts)},
              {"zh", fmt::format("{} 台已验收主机的清单", hosts)}}}}}};
}

}  // namespace

std::string locked_profile(const std::vector<HostInventory>& hosts, const std::string& name,
                           bool serials, const std::string& day,
                           std::vector<std::string>& left_out) {
  json criteria = json::array({criterion_json("delivery.expect", "expect",
                                              expected_of(hosts, left_out), hosts.size(), day)});
  if (serials) {
    json assets = assets_of(hosts, left_out);
    if (!assets.empty())
      criteria.push_back(
          criterion_json("delivery.assets", "assets", std::move(assets), hosts.size(), day));
  }
  const json out = {
      {"schema", "clusterbench.profile/1"},
      {"name", name},
      {"title", {{"en", "As accepted"}, {"zh", "与已验收状态一致"}}},
      {"steps", json::array({{{"id", "info"}, {"case", "info"}, {"deadline", "120s"}}})},
      {"criteria", std::move(criteria)}};
  return dump_json(out);
}

}  // namespace cb
