// How it decides: every sample is divided by the fleet's level, so a healthy one is 1 with some
// noise (locate_score). A part's score is the median of the samples that pass through it: a slow
// partner changes one of many samples, not the median. Explanations are tried from the widest to
// the narrowest (uplink, host, NIC, link); samples that one explains no longer count for the
// narrower ones.
#include "model/locate.h"

#include <algorithm>
#include <utility>

#include "model/locate_links.h"
#include "model/locate_score.h"
#include "model/locate_uplinks.h"

namespace cb {
namespace {

using locating::Bins;
using locating::Judge;
using locating::kMinSamples;
using locating::Sample;
using locating::Score;

class Locator {
 public:
  Locator(const FleetShape& fleet, locating::Levelled levelled, const LocateOptions& options)
      : fleet_(fleet),
        judge_(options, levelled.noise),
        samples_(std::move(levelled.samples)),
        nic_(fleet.nics()),
        slow_(fleet.nics(), false) {}

  Located run() {
    std::vector<Suspect> suspects = locating::find_uplinks(fleet_, judge_, samples_);
    // The second pass leaves out samples whose other end the first pass found slow.
    for (int pass = 0; pass < 2; ++pass) {
      score_nics();
      parts_.clear();
      for (int host = 0; host < fleet_.hosts; ++host) judge_host(host);
    }
    locating::FoundLinks links = locating::find_links(fleet_, judge_, samples_, slow_);
    suspects.insert(suspects.end(), parts_.begin(), parts_.end());
    suspects.insert(suspects.end(), links.suspects.begin(), links.suspects.end());
    mark_congestion(suspects);
    std::sort(suspects.begin(), suspects.end(),
              [](const Suspect& a, const Suspect& b) { return a.share < b.share; });
    return {std::move(suspects), std::move(links.retest), judge_.noise()};
  }

 private:
  struct Nic {
    Score transmit, receive, both;
  };

  // Passes every sample that counts to its sending NIC and to its receiving one, unless the NIC at
  // the other end is slow.
  template <typename Transmit, typename Receive>
  void for_each(Transmit transmit, Receive receive) const {
    for (const Sample& s : samples_) {
      if (s.explained || s.alone) continue;
      const size_t from = fleet_.nic(s.from, s.rail), to = fleet_.nic(s.to, s.rail);
      if (!slow_[to]) transmit(from, s.x);
      if (!slow_[from]) receive(to, s.x);
    }
  }

  void score_nics() {
    const auto nobody = [](size_t, float) {};
    Bins transmit(fleet_.nics(), [&](auto add) { for_each(add, nobody); });
    Bins receive(fleet_.nics(), [&](auto add) { for_each(nobody, add); });
    Bins both(fleet_.nics(), [&](auto add) { for_each(add, add); });
    for (size_t i = 0; i < nic_.size(); ++i)
      nic_[i] = {judge_.score(transmit.of(i)), judge_.score(receive.of(i)),
                 judge_.score(both.of(i))};
  }

  bool any_side_slow(const Nic& n) const {
    return judge_.is_slow(n.transmit) || judge_.is_slow(n.receive) || judge_.is_slow(n.both);
  }

  void judge_host(int host) {
    std::vector<float> shares;
    Score all{.share = 1, .low = 0, .n = 0};
    int slow = 0, scored = 0;
    for (int rail = 0; rail < fleet_.rails; ++rail) {
      const size_t i = fleet_.nic(host, rail);
      const Nic& n = nic_[i];
      slow_[i] = any_side_slow(n);
      if (n.both.n < kMinSamples) continue;
      ++scored;
      slow += slow_[i];
      shares.push_back(static_cast<float>(n.both.share));
      all.low += n.both.low;
      all.n += n.both.n;
    }
    double host_share = 1;
    if (fleet_.rails > 1 && scored > 1 && slow >= locating::kMaxOf * scored) {
      all.share = host_share = locating::middle(shares);
      Suspect s = judge_.suspect(SuspectKind::host, all);
      s.host = host;
      parts_.push_back(s);
    } else if (fleet_.rails == 1 && slow == 1) {
      report_nic(host, 0, SuspectKind::host, 1);
      return;
    }
    for (int rail = 0; rail < fleet_.rails; ++rail) {
      if (slow_[fleet_.nic(host, rail)]) report_nic(host, rail, SuspectKind::nic, host_share);
    }
  }

  // A NIC of a slow host is reported only if it is slower than the host. If only one of its sides
  // is slow, that side is reported.
  void report_nic(int host, int rail, SuspectKind kind, double host_share) {
    const Nic& n = nic_[fleet_.nic(host, rail)];
    const auto slow = [&](Score s) {
      s.share /= host_share;
      return judge_.is_slow(s);
    };
    const bool transmit = slow(n.transmit), receive = slow(n.receive);
    if (!transmit && !receive && !slow(n.both)) return;
    const bool one_sided = transmit != receive;
    Suspect s = judge_.suspect(kind, !one_sided ? n.both : transmit ? n.transmit : n.receive);
    s.host = host;
    s.rail = kind == SuspectKind::nic ? rail : -1;
    s.side = !one_sided ? Side::both : transmit ? Side::transmit : Side::receive;
    parts_.push_back(s);
  }

  // The suspect was tested alone and was fine: the part is sound, and what it shares with others is
  // not.
  void mark_congestion(std::vector<Suspect>& suspects) const {
    for (Suspect& suspect : suspects) {
      std::vector<float> alone;
      for (const Sample& s : samples_) {
        if (s.alone && touches(suspect, s)) alone.push_back(s.x);
      }
      if (alone.size() >= kMinSamples) suspect.congestion = !judge_.is_slow(judge_.score(alone));
    }
  }

  // Counts only the slow side: a host that sends badly may receive well, alone or together.
  static bool uses(const Suspect& suspect, const Sample& s) {
    return (s.from == suspect.host && suspect.side != Side::receive) ||
           (s.to == suspect.host && suspect.side != Side::transmit);
  }

  bool touches(const Suspect& suspect, const Sample& s) const {
    switch (suspect.kind) {
      case SuspectKind::host:
        return uses(suspect, s);
      case SuspectKind::nic:
        return s.rail == suspect.rail && uses(suspect, s);
      case SuspectKind::link:
        return s.rail == suspect.rail && s.from == suspect.host && s.to == suspect.peer;
      case SuspectKind::uplink:
        return (fleet_.leaf_of(s.from, s.rail) == suspect.leaf) !=
               (fleet_.leaf_of(s.to, s.rail) == suspect.leaf);
      case SuspectKind::inside:
      case SuspectKind::rail:
        break;  // locate_groups.h judges groups
    }
    return false;
  }

  const FleetShape& fleet_;
  Judge judge_;
  std::vector<Sample> samples_;
  std::vector<Nic> nic_;
  std::vector<bool> slow_;  // by NIC: true if it is slow
  std::vector<Suspect> parts_;
};

}  // namespace

int FleetShape::leaf_of(int host, int rail) const {
  return leaf.empty() ? -1 : leaf[nic(host, rail)];
}

Located locate(const FleetShape& fleet, const std::vector<PairSample>& samples,
               const LocateOptions& options) {
  return Locator(fleet, locating::divide_by_level(fleet, samples, options), options).run();
}

}  // namespace cb
