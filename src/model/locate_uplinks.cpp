#include "model/locate_uplinks.h"

#include <map>
#include <optional>
#include <utility>

namespace cb::locating {
namespace {

constexpr int kNone = -1, kSeveral = -2;

class UplinkFinder {
 public:
  UplinkFinder(const FleetShape& fleet, const Judge& judge, std::vector<Sample>& samples)
      : fleet_(fleet), judge_(judge), samples_(samples) {
    for (const int leaf : fleet.leaf) leaves_ = std::max(leaves_, static_cast<size_t>(leaf + 1));
    hosts_of_.resize(leaves_);
    slow_.resize(leaves_, false);
    number_hosts();
  }

  // Finds the slowest uplink first and explains its samples before it looks for the next: with few
  // leaves one slow uplink also lowers the others' medians.
  std::vector<Suspect> run() {
    std::vector<Suspect> found;
    while (const auto worst = slowest()) {
      found.push_back(*worst);
      slow_[static_cast<size_t>(worst->leaf)] = true;
      for (Sample& s : samples_) s.explained = crosses_slow(s);
    }
    return found;
  }

 private:
  // Gives a host one number on each of its leaves, for all of its NICs there.
  void number_hosts() {
    std::map<std::pair<int, int>, size_t> numbers;
    for (int host = 0; host < fleet_.hosts; ++host) {
      for (int rail = 0; rail < fleet_.rails; ++rail) {
        const int leaf = fleet_.leaf_of(host, rail);
        const auto [at, fresh] = numbers.try_emplace({leaf, host}, numbers.size());
        if (fresh && leaf >= 0) hosts_of_[static_cast<size_t>(leaf)].push_back(at->second);
        member_.push_back(at->second);
      }
    }
    members_ = numbers.size();
  }

  struct Ends {
    int from_leaf, to_leaf;
    bool known() const { return from_leaf >= 0 && to_leaf >= 0; }
    bool cross() const { return from_leaf != to_leaf; }
  };
  Ends ends(const Sample& s) const {
    return {fleet_.leaf_of(s.from, s.rail), fleet_.leaf_of(s.to, s.rail)};
  }

  bool crosses_slow(const Sample& s) const {
    const Ends e = ends(s);
    return e.known() && e.cross() &&
           (slow_[static_cast<size_t>(e.from_leaf)] || slow_[static_cast<size_t>(e.to_leaf)]);
  }

  template <typename F>
  void for_each(bool cross, F f) const {
    for (const Sample& s : samples_) {
      if (s.alone || s.explained) continue;
      const Ends e = ends(s);
      if (e.known() && e.cross() == cross) f(s, e);
    }
  }

  std::optional<Suspect> slowest() const {
    Bins local(leaves_, [&](auto add) {
      for_each(false, [&](const Sample& s, Ends e) { add(static_cast<size_t>(e.from_leaf), s.x); });
    });
    Bins leaving(leaves_, [&](auto add) {
      for_each(true, [&](const Sample& s, Ends e) {
        add(static_cast<size_t>(e.from_leaf), s.x);
        add(static_cast<size_t>(e.to_leaf), s.x);
      });
    });
    Bins by_host(members_, [&](auto add) {
      for_each(true, [&](const Sample& s, Ends) {
        add(member_[fleet_.nic(s.from, s.rail)], s.x);
        add(member_[fleet_.nic(s.to, s.rail)], s.x);
      });
    });
    std::optional<Suspect> worst;
    for (size_t leaf = 0; leaf < leaves_; ++leaf) {
      const auto s = judge_leaf(leaf, local.of(leaf), leaving.of(leaf), by_host);
      if (s && (!worst || s->share < worst->share)) worst = s;
    }
    if (worst) worst->peer_leaf = only_partner(worst->leaf);
    return worst;
  }

  std::optional<Suspect> judge_leaf(size_t leaf, std::span<float> local, std::span<float> leaving,
                                    Bins& by_host) const {
    if (local.size() < kMinSamples) return std::nullopt;
    const Score away = judge_.score(leaving);
    if (!judge_.is_slow(away) || judge_.is_slow(judge_.score(local))) return std::nullopt;
    // One slow host on a small leaf is in half of the samples that its neighbours receive.
    if (static_cast<double>(away.low) < kMaxOf * static_cast<double>(away.n)) return std::nullopt;
    size_t hosts = 0, slow_hosts = 0;
    for (const size_t host : hosts_of_[leaf]) {
      const std::span<float> values = by_host.of(host);
      if (values.empty()) continue;
      ++hosts;
      slow_hosts += judge_.score(values).share < 1 - judge_.tolerance();
    }
    if (hosts < 2 || static_cast<double>(slow_hosts) < kMaxOf * static_cast<double>(hosts))
      return std::nullopt;
    Suspect s = judge_.suspect(SuspectKind::uplink, away);
    s.leaf = static_cast<int>(leaf);
    return s;
  }

  // If a leaf has a single partner, both ends look the same: only the path between them can be
  // named.
  int only_partner(int leaf) const {
    int partner = kNone;
    for_each(true, [&](const Sample&, Ends e) {
      if (e.from_leaf != leaf && e.to_leaf != leaf) return;
      const int other = e.from_leaf == leaf ? e.to_leaf : e.from_leaf;
      partner = partner == kNone || partner == other ? other : kSeveral;
    });
    return partner == kSeveral ? kNone : partner;
  }

  const FleetShape& fleet_;
  const Judge& judge_;
  std::vector<Sample>& samples_;
  size_t leaves_ = 0, members_ = 0;
  std::vector<size_t> member_;  // NIC → number of its host and leaf
  std::vector<std::vector<size_t>> hosts_of_;
  std::vector<bool> slow_;
};

}  // namespace

std::vector<Suspect> find_uplinks(const FleetShape& fleet, const Judge& judge,
                                  std::vector<Sample>& samples) {
  if (fleet.leaf.empty()) return {};
  return UplinkFinder(fleet, judge, samples).run();
}

}  // namespace cb::locating
