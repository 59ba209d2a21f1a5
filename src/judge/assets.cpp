// A delivery list against the pieces that the hosts show, by serial number.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/letters.h"
#include "judge/expect.h"
#include "judge/pieces.h"

namespace cb {
namespace {

// Hexadecimal digits at the front of `text`, which are taken away; nothing if there are fewer than
// `least` or more than `most`.
std::optional<unsigned long> take_hex(std::string_view& text, size_t least, size_t most) {
  const size_t end = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
  if (end < least || end > most) return std::nullopt;
  const unsigned long out = std::stoul(std::string(text.substr(0, end)), nullptr, 16);
  text.remove_prefix(end);
  return out;
}

bool take_sign(std::string_view& text, char sign) {
  if (text.empty() || text.front() != sign) return false;
  text.remove_prefix(1);
  return true;
}

// "00000000:19:00.0" and "19:00.0" are "0000:19:00.0", as tools write a PCI address. Nothing for
// other slots: makers number them as they like.
std::optional<std::string> pci_slot(const std::string& slot) {
  const std::string text = in_small_letters(slot);
  std::string_view rest = text;
  unsigned long domain = 0;
  if (std::ranges::count(text, ':') == 2) {
    const auto given = take_hex(rest, 1, 8);
    if (!given || !take_sign(rest, ':')) return std::nullopt;
    domain = *given;
  }
  const auto bus = take_hex(rest, 1, 2);
  if (!bus || !take_sign(rest, ':')) return std::nullopt;
  const auto device = take_hex(rest, 1, 2);
  if (!device || !take_sign(rest, '.')) return std::nullopt;
  const auto function = take_hex(rest, 1, 1);
  if (!function || !rest.empty()) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, *bus, *device, *function);
}

// A slot as it is compared.
std::string slot_key(const std::string& slot) {
  return pci_slot(slot).value_or(in_small_letters(slot));
}

std::string without_zeros(const std::string& serial) {
  return serial.substr(std::min(serial.find_first_not_of('0'), serial.size()));
}

bool is_ipv4_address(const std::string& host) {
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string::npos;
}

// True if every word of the ordered model is a word of the piece's: "H20" is no "NVIDIA H200".
bool is_model(const std::string& ordered, const std::string& own) {
  const auto words = [](const std::string& text) {
    std::set<std::string> out;
    std::string word;
    for (const char c : in_small_letters(text) + " ") {
      if (c != ' ' && c != '_') {
        word += c;
      } else if (!word.empty()) {
        out.insert(word);
        word.clear();
      }
    }
    return out;
  };
  const std::set<std::string> wanted = words(ordered), have = words(own);
  return std::includes(have.begin(), have.end(), wanted.begin(), wanted.end());
}

struct Misplaced {
  const Asset* asset;
  const Piece* piece;
};

class AssetComparison {
 public:
  AssetComparison(std::span<const HostInventory> hosts, const std::vector<Asset>& assets,
                  Evidence& evidence, std::span<const HostInventory> module_owners)
      : assets_(assets), pieces_(pieces_of(hosts)), evidence_(evidence) {
    for (const HostInventory& host : hosts) add_name(host.host);
    for (const HostInventory& owner : module_owners) {
      add_name(owner.host);
      module_owners_.insert(owner.host);
    }
    for (Piece& piece : pieces_of(module_owners)) pieces_.push_back(std::move(piece));
    for (const Piece& piece : pieces_) {
      if (piece.kind == kModule) told_modules_.insert(piece.host);
      if (!piece.serial.empty())
        by_serial_[{piece.kind, in_small_letters(piece.serial)}].push_back(&piece);
    }
  }

  void run() {
    for (const Asset& asset : assets_) {
      listed_kinds_.insert(asset.part);
      look_for(asset);
    }
    say_unseen_hosts();
    pair_hosts();
    pair_slots();
    find_surplus();
    for (const Asset* asset : missing_) miss(*asset);
    for (const Piece* piece : surplus_) add(*piece, {"why.asset_surplus", {named(*piece)}});
  }

 private:
  static constexpr const char* kModule = "module";

  void add_name(const std::string& host) {
    by_name_.emplace(in_small_letters(host), host);
    by_short_name_[short_name(host)].push_back(host);
  }

  static std::string short_name(const std::string& host) {
    return in_small_letters(is_ipv4_address(host) ? host : host.substr(0, host.find('.')));
  }

  // The hosts whose first label is the listed one's, unless one has the whole name.
  const std::vector<std::string>& namesakes(const Asset& asset) const {
    const auto found = by_short_name_.find(short_name(asset.host));
    return found == by_short_name_.end() ? nobody_ : found->second;
  }

  // Returns the host that the list means, by the name that the inventories give it; empty if none.
  std::string named_host(const Asset& asset) const {
    const auto whole = by_name_.find(in_small_letters(asset.host));
    if (whole != by_name_.end()) return whole->second;
    const std::vector<std::string>& all = namesakes(asset);
    return all.size() == 1 ? all.front() : "";
  }

  // The same; empty also where nothing is known of the host but its modules, and it is none.
  std::string host_of(const Asset& asset) const {
    std::string out = named_host(asset);
    if (asset.part != kModule && module_owners_.contains(out)) out.clear();
    return out;
  }

  static std::string named(const Piece& piece) {
    return fmt::format("{} {} {} ({})", piece.host, piece.kind, piece.slot, piece.serial);
  }
  static std::string named(const Asset& asset) {
    return fmt::format("{} {}{}{} ({})", asset.host, asset.part, asset.slot.empty() ? "" : " ",
                       asset.slot, asset.serial.empty() ? asset.model : asset.serial);
  }

  void gap(const std::string& host, Message what) {
    evidence_.gaps.push_back({host, std::move(what)});
  }

  void add(const std::string& host, const std::string& kind, const std::string& id, Message what) {
    Finding f;
    f.entity = {host, kind, id};
    f.unit = "count";
    f.value = f.badness = 1;
    f.limit = 0;
    f.limit_is_minimum = false;
    f.failing = true;
    f.detail.push_back(std::move(what));
    evidence_.findings.push_back(std::move(f));
  }
  void add(const Piece& piece, Message what) {
    add(piece.host, piece.kind, piece.id, std::move(what));
  }

  void look_for(const Asset& asset) {
    if (const std::string listed = named_host(asset); !listed.empty()) listed_hosts_.insert(listed);
    const std::string host = host_of(asset);
    if (host.empty()) return;  // say_unseen_hosts() does
    if (asset.serial.empty()) {
      ++unnamed_[{host, asset.part}];
      return gap(host, {"gap.asset_no_serial", {named(asset)}});
    }
    const auto found = by_serial_.find({asset.part, in_small_letters(asset.serial)});
    if (found == by_serial_.end() && asset.part == kModule && !told_modules_.contains(host))
      return gap(host, {"gap.asset_modules", {named(asset), host}});
    if (found == by_serial_.end()) return not_found(asset, host);
    for (const Piece* piece : found->second) used_.insert(piece);
    const Piece& piece = *found->second.front();
    if (found->second.size() > 1)
      return add(piece,
                 {"why.asset_double", {asset.serial, named(piece), named(*found->second.back())}});
    check_model(asset, piece);
    if (piece.host != host)
      in_other_host_.push_back({&asset, &piece});
    else if (pci_slot(asset.slot) && slot_key(asset.slot) != slot_key(piece.slot))
      in_other_slot_.push_back({&asset, &piece});
  }

  void not_found(const Asset& asset, const std::string& host) {
    for (const Piece& piece : pieces_) {
      if (piece.host == host && piece.kind == asset.part && piece.serial.empty())
        return gap(host, {"gap.asset_unread",
                          {named(asset), fmt::format("{} {}", piece.kind, piece.slot), piece.why}});
    }
    missing_.push_back(&asset);
  }

  void check_model(const Asset& asset, const Piece& piece) {
    if (asset.model.empty()) return;
    const std::vector<std::string> own = models_of(piece);
    if (own.empty()) return gap(piece.host, {"gap.asset_model", {named(piece), asset.model}});
    if (std::ranges::none_of(own, [&](const auto& o) { return is_model(asset.model, o); }))
      add(piece, {"why.asset_model", {named(piece), own.front(), asset.model}});
  }

  void say_unseen_hosts() {
    for (const Asset& asset : assets_) {
      if (!host_of(asset).empty() || !unseen_hosts_.insert(asset.host).second) continue;
      const std::vector<std::string>& all = namesakes(asset);
      if (all.size() > 1)
        gap(asset.host, {"gap.asset_two_hosts", {asset.host, all[0], all[1]}});
      else
        gap(asset.host, {"gap.asset_host", {asset.host}});
    }
  }

  // Two pieces, each where the other one belongs, are one finding; every other one is its own.
  template <typename Place>
  void pair(std::vector<Misplaced>& list, const char* swapped, const char* moved,
            const Place& place) {
    while (!list.empty()) {
      const Misplaced one = list.front();
      list.erase(list.begin());
      const auto other = std::ranges::find_if(list, [&](const Misplaced& m) {
        return m.asset->part == one.asset->part && place(*m.piece) == place(*one.asset, *this) &&
               place(*m.asset, *this) == place(*one.piece);
      });
      if (other == list.end()) {
        add(*one.piece, {moved, {named(*one.asset), named(*one.piece)}});
        continue;
      }
      add(*one.piece, {swapped, {named(*one.piece), named(*other->piece)}});
      list.erase(other);
    }
  }

  struct HostPlace {
    std::string operator()(const Piece& piece) const { return piece.host; }
    std::string operator()(const Asset& asset, const AssetComparison& of) const {
      return of.host_of(asset);
    }
  };
  struct SlotPlace {
    std::string operator()(const Piece& piece) const {
      return piece.host + " " + slot_key(piece.slot);
    }
    std::string operator()(const Asset& asset, const AssetComparison& of) const {
      return of.host_of(asset) + " " + slot_key(asset.slot);
    }
  };

  void pair_hosts() { pair(in_other_host_, "why.asset_swapped", "why.asset_moved", HostPlace()); }
  void pair_slots() { pair(in_other_slot_, "why.asset_slots", "why.asset_slot", SlotPlace()); }

  void find_surplus() {
    std::set<std::string> strangers;
    for (const Piece& piece : pieces_) {
      if (!listed_kinds_.contains(piece.kind) || used_.contains(&piece)) continue;
      // It may be one of those that the list names without a serial number.
      const auto unnamed = unnamed_.find({piece.host, piece.kind});
      if (unnamed != unnamed_.end() && unnamed->second > 0) {
        --unnamed->second;
        continue;
      }
      if (!listed_hosts_.contains(piece.host)) {
        if (strangers.insert(piece.host).second)
          add(piece.host, "host", "", {"why.asset_host", {piece.host}});
      } else if (piece.serial.empty()) {
        gap(piece.host, {"gap.asset_stranger",
                         {piece.host, fmt::format("{} {}", piece.kind, piece.slot), piece.why}});
      } else {
        surplus_.push_back(&piece);
      }
    }
  }

  // A piece that is missing where a stranger of its kind is: somebody exchanged it.
  void miss(const Asset& asset) {
    const std::string host = host_of(asset);
    const auto same = [&](bool also_slot) {
      return std::ranges::find_if(surplus_, [&, also_slot](const Piece* p) {
        return p->host == host && p->kind == asset.part &&
               (!also_slot || slot_key(p->slot) == slot_key(asset.slot));
      });
    };
    const auto zeros = std::ranges::find_if(surplus_, [&](const Piece* p) {
      return p->host == host && p->kind == asset.part &&
             in_small_letters(without_zeros(p->serial)) ==
                 in_small_letters(without_zeros(asset.serial));
    });
    if (zeros != surplus_.end()) {
      add(**zeros, {"why.asset_zeros", {named(**zeros), asset.serial}});
      surplus_.erase(zeros);
      return;
    }
    auto other = same(true);
    if (other == surplus_.end()) other = same(false);
    if (other == surplus_.end())
      return add(host, asset.part, asset.slot, {"why.asset_missing", {named(asset)}});
    add(**other, {"why.asset_exchanged", {named(**other), asset.serial}});
    surplus_.erase(other);
  }

  const std::vector<Asset>& assets_;
  std::vector<Piece> pieces_;
  Evidence& evidence_;
  std::map<std::string, std::string> by_name_;  // → the inventories' name
  std::map<std::string, std::vector<std::string>> by_short_name_;
  const std::vector<std::string> nobody_ = {};
  std::map<std::pair<std::string, std::string>, std::vector<const Piece*>> by_serial_;
  std::set<std::string> module_owners_;  // nothing else is known of these
  std::set<std::string> told_modules_;   // hosts with at least one known module
  std::set<std::string> listed_kinds_, listed_hosts_, unseen_hosts_;
  std::map<std::pair<std::string, std::string>, size_t> unnamed_;  // host, kind → rows
  std::set<const Piece*> used_;
  std::vector<Misplaced> in_other_host_, in_other_slot_;
  std::vector<const Asset*> missing_;
  std::vector<const Piece*> surplus_;
};

}  // namespace

void compare_assets(std::span<const HostInventory> hosts, const std::vector<Asset>& assets,
                    Evidence& evidence, std::span<const HostInventory> module_owners) {
  AssetComparison(hosts, assets, evidence, module_owners).run();
}

}  // namespace cb
