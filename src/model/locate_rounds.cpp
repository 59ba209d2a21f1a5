// Chooses the pairs to measure: the quick survey, and the pairs that confirm suspects.
#include <algorithm>
#include <cmath>
#include <set>

#include "model/locate.h"

namespace cb {

std::vector<Round> quick_survey(const FleetShape& fleet, uint64_t seed) {
  const int across = static_cast<int>(std::ceil(std::log2(std::max(2, fleet.hosts)))) + 8;
  std::vector<Round> rounds = random_rounds(fleet.hosts, across, seed);
  if (fleet.leaf.empty()) return rounds;
  std::vector<int> group_of;
  for (int h = 0; h < fleet.hosts; ++h) group_of.push_back(fleet.leaf_of(h, 0));
  for (Round& r : local_rounds(group_of, 6, seed + 1)) rounds.push_back(std::move(r));
  return rounds;
}

namespace {

class Confirmation {
 public:
  Confirmation(const FleetShape& fleet, const Located& located) : fleet_(fleet) {
    std::set<int> suspected;
    for (const Suspect& s : located.suspects) {
      if (s.kind == SuspectKind::host || s.kind == SuspectKind::nic) suspected.insert(s.host);
    }
    for (int h = 0; h < fleet.hosts; ++h) {
      if (!suspected.contains(h)) sound_.push_back(h);
    }
  }

  std::vector<HostPair> run(const Located& located) {
    for (const Suspect& s : located.suspects) add(s);
    pairs_.insert(pairs_.end(), located.retest.begin(), located.retest.end());
    if (!pairs_.empty() && sound_.size() >= 2) both_ways(sound_[0], sound_[1]);
    std::set<HostPair> seen;
    std::erase_if(pairs_, [&](const HostPair& p) { return !seen.insert(p).second; });
    return std::move(pairs_);
  }

 private:
  void both_ways(int a, int b) {
    pairs_.push_back({a, b});
    pairs_.push_back({b, a});
  }

  void add(const Suspect& s) {
    if (s.kind == SuspectKind::link) {
      pairs_.push_back({s.host, s.peer});
    } else if (s.kind == SuspectKind::uplink) {
      cross(s.leaf);
    } else if ((s.kind == SuspectKind::host || s.kind == SuspectKind::nic) && !sound_.empty()) {
      // Different suspects get different partners.
      for (const size_t k : {size_t{0}, size_t{1}})
        both_ways(s.host, sound_[(static_cast<size_t>(s.host) + k) % sound_.size()]);
    }
  }

  bool hangs_on(int host, int leaf) const {
    for (int rail = 0; rail < fleet_.rails; ++rail) {
      if (fleet_.leaf_of(host, rail) == leaf) return true;
    }
    return false;
  }

  void cross(int leaf) {
    std::vector<int> inside, outside;
    for (const int h : sound_) {
      std::vector<int>& side = hangs_on(h, leaf) ? inside : outside;
      if (side.size() < 2) side.push_back(h);
    }
    for (size_t i = 0; i < std::min(inside.size(), outside.size()); ++i)
      both_ways(inside[i], outside[i]);
  }

  const FleetShape& fleet_;
  std::vector<int> sound_;
  std::vector<HostPair> pairs_;
};

}  // namespace

std::vector<HostPair> confirming_pairs(const FleetShape& fleet, const Located& located) {
  return Confirmation(fleet, located).run(located);
}

}  // namespace cb
