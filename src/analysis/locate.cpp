// How it decides: every sample is divided by the fleet's median, so a healthy one is 1 with some
// noise. A part's score is the median of the samples that pass through it: a slow partner moves one
// of many samples and so not the median. Explanations are tried from the widest to the narrowest
// (uplink, host, NIC, link), and samples that one explains no longer count for the narrower ones.
#include "analysis/locate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/stats.h"

namespace cb {
namespace {

// The standard error of a median of n normal samples is 1.2533 σ/√n.
constexpr double kMedianError = 1.2533;
constexpr double kMadToSigma = 1.4826;
// Fewer samples than this say nothing about a part.
constexpr size_t kFewest = 3;
// So many of a host's rails must be slow for the host to be the cause, and of a leaf's NICs for its
// uplink.
constexpr double kMostOf = 0.75;

double middle(std::vector<float>& values) {
  const auto mid = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  if (values.size() % 2 == 1) return *mid;
  return (static_cast<double>(*mid) + *std::max_element(values.begin(), mid)) / 2;
}

struct Score {
  double share = 1;
  size_t low = 0;
  size_t n = 0;
};

class Locator {
 public:
  Locator(const FleetShape& fleet, const std::vector<PairSample>& samples,
          const LocateOptions& options)
      : fleet_(fleet), options_(options) {
    nic_.resize(static_cast<size_t>(fleet.hosts) * static_cast<size_t>(fleet.rails));
    normalise(samples);
  }

  Located run() {
    find_uplinks();
    // The second pass leaves out samples whose other end the first pass found slow.
    for (int pass = 0; pass < 2; ++pass) {
      score_nics();
      find_hosts_and_nics();
    }
    find_links();
    mark_congestion();
    std::sort(out_.suspects.begin(), out_.suspects.end(),
              [](const Suspect& a, const Suspect& b) { return a.share < b.share; });
    return std::move(out_);
  }

 private:
  struct Sample {
    int from, to, rail;
    float x;
    bool alone;
    bool explained;
  };
  struct Nic {
    Score transmit, receive, both;
    bool slow = false;
  };

  size_t nic_index(int host, int rail) const {
    return static_cast<size_t>(host) * static_cast<size_t>(fleet_.rails) +
           static_cast<size_t>(rail);
  }

  // The fleet's level is the median of its NICs' medians, and the noise is what is left of a sample
  // when the medians of its two ends are taken out. Both hold with few hosts too: of four hosts a
  // slow one takes part in half of all pairs, but is one of four.
  void normalise(const std::vector<PairSample>& samples) {
    std::vector<std::vector<float>> transmit(nic_.size()), receive(nic_.size());
    for (const PairSample& s : samples) {
      if (s.alone) continue;
      transmit[nic_index(s.from, s.rail)].push_back(static_cast<float>(s.value));
      receive[nic_index(s.to, s.rail)].push_back(static_cast<float>(s.value));
    }
    const double centre = level_of(transmit, receive);
    if (centre <= 0) return;
    const std::vector<double> sends = medians(transmit), receives = medians(receive);
    out_.noise = std::max(1e-4, noise_of(samples, sends, receives));
    const double alone_centre = level_alone(samples, sends, receives, centre);
    for (const PairSample& s : samples) {
      samples_.push_back({s.from, s.to, s.rail,
                          static_cast<float>(s.value / (s.alone ? alone_centre : centre)), s.alone,
                          false});
    }
  }

  static std::vector<double> medians(std::vector<std::vector<float>>& by_nic) {
    std::vector<double> out;
    for (auto& values : by_nic) out.push_back(values.empty() ? 0 : middle(values));
    return out;
  }

  // Alone everything may be faster: what is measured alone is compared with pairs of sound NICs
  // alone, where there are such.
  double level_alone(const std::vector<PairSample>& samples, const std::vector<double>& sends,
                     const std::vector<double>& receives, double centre) const {
    std::vector<float> sound;
    for (const PairSample& s : samples) {
      const double slower =
          std::min(sends[nic_index(s.from, s.rail)], receives[nic_index(s.to, s.rail)]);
      if (s.alone && slower >= (1 - options_.tolerance) * centre)
        sound.push_back(static_cast<float>(s.value));
    }
    return sound.size() >= kFewest ? middle(sound) : centre;
  }

  static double level_of(const std::vector<std::vector<float>>& transmit,
                         const std::vector<std::vector<float>>& receive) {
    std::vector<float> medians;
    for (size_t i = 0; i < transmit.size(); ++i) {
      std::vector<float> both = transmit[i];
      both.insert(both.end(), receive[i].begin(), receive[i].end());
      if (!both.empty()) medians.push_back(static_cast<float>(middle(both)));
    }
    return medians.empty() ? 0 : middle(medians);
  }

  double noise_of(const std::vector<PairSample>& samples, const std::vector<double>& sends,
                  const std::vector<double>& receives) const {
    std::vector<float> residuals;
    for (const PairSample& s : samples) {
      if (s.alone) continue;
      const double expected =
          std::min(sends[nic_index(s.from, s.rail)], receives[nic_index(s.to, s.rail)]);
      if (expected > 0) residuals.push_back(static_cast<float>(std::abs(s.value / expected - 1)));
    }
    return residuals.empty() ? 0 : kMadToSigma * middle(residuals);
  }

  // How far below 1 a median of n samples must lie to count.
  double bound(size_t n) const {
    return std::max(options_.tolerance, options_.sigmas * kMedianError * out_.noise /
                                            std::sqrt(static_cast<double>(std::max<size_t>(n, 1))));
  }
  bool is_slow(const Score& s) const { return s.n >= kFewest && s.share < 1 - bound(s.n); }

  Score score(std::vector<float>& values) const {
    Score s{.n = values.size()};
    if (values.empty()) return s;
    s.share = middle(values);
    s.low = static_cast<size_t>(std::count_if(values.begin(), values.end(),
                                              [&](float x) { return x < 1 - options_.tolerance; }));
    return s;
  }

  double confidence(const Score& s) const {
    const double z =
        (1 - s.share) / (kMedianError * out_.noise / std::sqrt(static_cast<double>(s.n)));
    return 1 - 0.5 * std::erfc(z / std::sqrt(2.0));
  }

  Suspect suspect(SuspectKind kind, const Score& s) const {
    Suspect out{
        .kind = kind, .share = s.share, .low = s.low, .samples = s.n, .confidence = confidence(s)};
    return out;
  }

  struct Leaf {
    std::vector<float> local;
    std::vector<float> leaving;
    std::map<int, std::vector<float>> leaving_by_host;
    std::set<int> partners;
  };

  std::map<int, Leaf> collect_leaves() const {
    std::map<int, Leaf> leaves;
    for (const Sample& s : samples_) {
      if (s.alone || s.explained) continue;
      const int a = fleet_.leaf_of(s.from, s.rail), b = fleet_.leaf_of(s.to, s.rail);
      if (a < 0 || b < 0) continue;
      if (a == b) {
        leaves[a].local.push_back(s.x);
        continue;
      }
      for (const auto& [leaf, host, other] : {std::tuple(a, s.from, b), std::tuple(b, s.to, a)}) {
        leaves[leaf].leaving.push_back(s.x);
        leaves[leaf].leaving_by_host[host].push_back(s.x);
        leaves[leaf].partners.insert(other);
      }
    }
    return leaves;
  }

  // A leaf's uplink is slow if most of its NICs are slow to other leaves while traffic inside the
  // leaf is fine.
  std::optional<Suspect> judge_leaf(int id, Leaf& leaf) const {
    if (leaf.local.size() < kFewest || leaf.leaving_by_host.size() < 2) return std::nullopt;
    const Score away = score(leaf.leaving);
    if (!is_slow(away) || is_slow(score(leaf.local))) return std::nullopt;
    size_t slow_hosts = 0;
    for (auto& [host, values] : leaf.leaving_by_host) {
      slow_hosts += score(values).share < 1 - options_.tolerance;
    }
    const double hosts = static_cast<double>(leaf.leaving_by_host.size());
    if (static_cast<double>(slow_hosts) < kMostOf * hosts) return std::nullopt;
    Suspect s = suspect(SuspectKind::uplink, away);
    s.leaf = id;
    // With a single partner both ends look the same: the path between the two is what can be named.
    if (leaf.partners.size() == 1) s.peer_leaf = *leaf.partners.begin();
    return s;
  }

  // The slowest first, and its samples explained before the next is looked for: with few leaves one
  // slow uplink pulls down the others' medians too.
  void find_uplinks() {
    for (;;) {
      std::optional<Suspect> worst;
      std::map<int, Leaf> leaves = collect_leaves();
      for (auto& [id, leaf] : leaves) {
        const auto s = judge_leaf(id, leaf);
        if (s && (!worst || s->share < worst->share)) worst = s;
      }
      if (!worst) return;
      out_.suspects.push_back(*worst);
      slow_leaf_.push_back(worst->leaf);
      for (Sample& s : samples_) s.explained = crosses_slow_uplink(s);
    }
  }

  bool crosses_slow_uplink(const Sample& s) const {
    const int a = fleet_.leaf_of(s.from, s.rail), b = fleet_.leaf_of(s.to, s.rail);
    if (a == b) return false;
    const auto slow = [&](int leaf) {
      return std::find(slow_leaf_.begin(), slow_leaf_.end(), leaf) != slow_leaf_.end();
    };
    return slow(a) || slow(b);
  }

  void score_nics() {
    std::vector<std::vector<float>> transmit(nic_.size()), receive(nic_.size());
    for (const Sample& s : samples_) {
      if (s.explained || s.alone) continue;
      const size_t from = nic_index(s.from, s.rail), to = nic_index(s.to, s.rail);
      if (!nic_[to].slow) transmit[from].push_back(s.x);
      if (!nic_[from].slow) receive[to].push_back(s.x);
    }
    for (size_t i = 0; i < nic_.size(); ++i) {
      std::vector<float> both = transmit[i];
      both.insert(both.end(), receive[i].begin(), receive[i].end());
      nic_[i].transmit = score(transmit[i]);
      nic_[i].receive = score(receive[i]);
      nic_[i].both = score(both);
    }
  }

  bool nic_slow(const Nic& n) const {
    return is_slow(n.transmit) || is_slow(n.receive) || is_slow(n.both);
  }

  // What is left of a NIC when its host's share is taken out.
  static Score relative(Score s, double host_share) {
    s.share /= host_share;
    return s;
  }

  void find_hosts_and_nics() {
    std::erase_if(out_.suspects, [](const Suspect& s) { return s.kind != SuspectKind::uplink; });
    for (int host = 0; host < fleet_.hosts; ++host) judge_host(host);
  }

  void judge_host(int host) {
    std::vector<float> shares;
    Score all{.share = 1, .low = 0, .n = 0};
    int slow = 0, scored = 0;
    for (int rail = 0; rail < fleet_.rails; ++rail) {
      Nic& n = nic_[nic_index(host, rail)];
      n.slow = nic_slow(n);
      if (n.both.n < kFewest) continue;
      ++scored;
      slow += n.slow;
      shares.push_back(static_cast<float>(n.both.share));
      all.low += n.both.low;
      all.n += n.both.n;
    }
    double host_share = 1;
    if (fleet_.rails > 1 && scored > 1 && slow >= kMostOf * scored) {
      all.share = host_share = middle(shares);
      Suspect s = suspect(SuspectKind::host, all);
      s.host = host;
      out_.suspects.push_back(s);
    } else if (fleet_.rails == 1 && slow == 1) {
      report_nic(host, 0, SuspectKind::host, 1);
      return;
    }
    for (int rail = 0; rail < fleet_.rails; ++rail) {
      if (nic_[nic_index(host, rail)].slow) report_nic(host, rail, SuspectKind::nic, host_share);
    }
  }

  void report_nic(int host, int rail, SuspectKind kind, double host_share) {
    const Nic& n = nic_[nic_index(host, rail)];
    const Score t = relative(n.transmit, host_share), r = relative(n.receive, host_share),
                b = relative(n.both, host_share);
    const bool t_slow = is_slow(t), r_slow = is_slow(r);
    if (!t_slow && !r_slow && !is_slow(b)) return;
    const bool one_sided = t_slow != r_slow;
    Suspect s = suspect(kind, !one_sided ? n.both : t_slow ? n.transmit : n.receive);
    s.host = host;
    s.rail = kind == SuspectKind::nic ? rail : -1;
    s.side = !one_sided ? Side::both : t_slow ? Side::transmit : Side::receive;
    out_.suspects.push_back(s);
  }

  // Pairs that are low although both ends are fine with everybody else. A single low sample among
  // millions is noise until it is repeated.
  void find_links() {
    const double single = std::max(0.03, 3.5 * out_.noise);
    std::map<std::tuple<int, int, int>, std::vector<float>> cells;
    for (const Sample& s : samples_) {
      if (s.explained || nic_[nic_index(s.from, s.rail)].slow || nic_[nic_index(s.to, s.rail)].slow)
        continue;
      if (s.x < 1 - single) cells[{s.from, s.to, s.rail}];
    }
    if (cells.empty()) return;
    for (const Sample& s : samples_) {
      const auto found = cells.find({s.from, s.to, s.rail});
      if (found != cells.end()) found->second.push_back(s.x);
    }
    for (auto& [key, values] : cells) judge_link(key, values);
    std::sort(out_.retest.begin(), out_.retest.end());
    out_.retest.erase(std::unique(out_.retest.begin(), out_.retest.end()), out_.retest.end());
  }

  void judge_link(const std::tuple<int, int, int>& key, std::vector<float>& values) {
    const auto [from, to, rail] = key;
    const Score s = score(values);
    if (s.n < kFewest) {
      out_.retest.push_back({from, to});
    } else if (s.share < 1 - options_.tolerance && 2 * s.low > s.n &&
               1 - s.share > options_.sigmas * kMedianError * out_.noise /
                                 std::sqrt(static_cast<double>(s.n))) {
      Suspect link = suspect(SuspectKind::link, s);
      link.host = from;
      link.peer = to;
      link.rail = rail;
      out_.suspects.push_back(link);
    }
  }

  // Tested alone and fine then: the part is sound and what it shares with others is not.
  void mark_congestion() {
    for (Suspect& suspect : out_.suspects) {
      std::vector<float> alone;
      for (const Sample& s : samples_) {
        if (s.alone && touches(suspect, s)) alone.push_back(s.x);
      }
      if (alone.size() >= kFewest) suspect.congestion = !is_slow(score(alone));
    }
  }

  // Only the side that is slow: a host that sends badly receives well, alone as together.
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
    }
    return false;
  }

  const FleetShape& fleet_;
  const LocateOptions& options_;
  std::vector<Sample> samples_;
  std::vector<Nic> nic_;
  std::vector<int> slow_leaf_;
  Located out_;
};

}  // namespace

int FleetShape::leaf_of(int host, int rail) const {
  if (leaf.empty()) return -1;
  return leaf[static_cast<size_t>(host) * static_cast<size_t>(rails) + static_cast<size_t>(rail)];
}

Located locate(const FleetShape& fleet, const std::vector<PairSample>& samples,
               const LocateOptions& options) {
  return Locator(fleet, samples, options).run();
}

}  // namespace cb
