// A delivery list against the pieces that the hosts show, by serial number.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/letters.h"
#include "judge/expect.h"
#include "judge/pieces.h"

namespace cb {
namespace {

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
                  Evidence& evidence)
      : assets_(assets), pieces_(pieces_of(hosts)), evidence_(evidence) {
    for (const HostInventory& host : hosts) {
      by_name_.emplace(in_small_letters(host.host), host.host);
      by_short_name_.emplace(short_name(host.host), host.host);
    }
    for (const Piece& piece : pieces_) {
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
  static std::string short_name(const std::string& host) {
    return in_small_letters(host.substr(0, host.find('.')));
  }

  // Returns the host that the list means, by the name that the inventories give it; empty if none.
  std::string host_of(const Asset& asset) const {
    const auto whole = by_name_.find(in_small_letters(asset.host));
    if (whole != by_name_.end()) return whole->second;
    const auto part = by_short_name_.find(short_name(asset.host));
    return part == by_short_name_.end() ? "" : part->second;
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
    const std::string host = host_of(asset);
    if (host.empty()) return unseen_hosts_.insert(asset.host), void();
    listed_hosts_.insert(host);
    if (asset.serial.empty()) {
      ++unnamed_[{host, asset.part}];
      return gap(host, {"gap.asset_no_serial", {named(asset)}});
    }
    const auto found = by_serial_.find({asset.part, in_small_letters(asset.serial)});
    if (found == by_serial_.end()) return not_found(asset, host);
    for (const Piece* piece : found->second) used_.insert(piece);
    const Piece& piece = *found->second.front();
    if (found->second.size() > 1)
      return add(piece,
                 {"why.asset_double", {asset.serial, named(piece), named(*found->second.back())}});
    check_model(asset, piece);
    if (piece.host != host)
      in_other_host_.push_back({&asset, &piece});
    else if (asset.slot.find(':') != std::string::npos &&
             in_small_letters(asset.slot) != piece.slot)
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
    for (const std::string& host : unseen_hosts_) gap(host, {"gap.asset_host", {host}});
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
    std::string operator()(const Piece& piece) const { return piece.host + " " + piece.slot; }
    std::string operator()(const Asset& asset, const AssetComparison& of) const {
      return of.host_of(asset) + " " + in_small_letters(asset.slot);
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
               (!also_slot || p->slot == in_small_letters(asset.slot));
      });
    };
    auto other = same(true);
    if (other == surplus_.end()) other = same(false);
    if (other == surplus_.end())
      return add(host, asset.part, asset.slot, {"why.asset_missing", {named(asset)}});
    add(**other, {"why.asset_exchanged", {named(**other), asset.serial}});
    surplus_.erase(other);
  }

  const std::vector<Asset>& assets_;
  const std::vector<Piece> pieces_;
  Evidence& evidence_;
  std::map<std::string, std::string> by_name_, by_short_name_;  // → the inventories' name
  std::map<std::pair<std::string, std::string>, std::vector<const Piece*>> by_serial_;
  std::set<std::string> listed_kinds_, listed_hosts_, unseen_hosts_;
  std::map<std::pair<std::string, std::string>, size_t> unnamed_;  // host, kind → rows
  std::set<const Piece*> used_;
  std::vector<Misplaced> in_other_host_, in_other_slot_;
  std::vector<const Asset*> missing_;
  std::vector<const Piece*> surplus_;
};

}  // namespace

void compare_assets(std::span<const HostInventory> hosts, const std::vector<Asset>& assets,
                    Evidence& evidence) {
  AssetComparison(hosts, assets, evidence).run();
}

}  // namespace cb
