#include "model/locate_groups.h"

#include <algorithm>
#include <cstdint>

#include "model/locate_score.h"

namespace cb {
namespace {

using locating::Bins;
using locating::Judge;

// With two groups nobody can say which one is slow.
constexpr int kMinGroups = 3;

class GroupJudge {
 public:
  GroupJudge(const UnitGroups& groups, const std::vector<PairSample>& samples)
      : groups_(groups), samples_(samples), bins_(by_group()) {
    for (size_t g = 0; g < bins_.parts(); ++g) {
      fewest_ = std::min(fewest_, bins_.of(g).size());
      medians_.push_back(bins_.of(g).empty() ? 0.0F
                                             : static_cast<float>(locating::middle(bins_.of(g))));
    }
  }

  bool can_compare() const {
    return groups_.count >= kMinGroups && fewest_ >= locating::kMinSamples;
  }

  JudgedGroups run(const LocateOptions& options) {
    std::vector<float> sorted = medians_;
    const double level = locating::middle(sorted);
    const Judge judge(options, std::max(1e-4, noise()));
    JudgedGroups out{.noise = judge.noise()};
    out.least_detectable = std::max(options.tolerance, judge.noise_bound(fewest_));
    std::vector<bool> slow(static_cast<size_t>(groups_.count), false);
    for (size_t g = 0; g < slow.size(); ++g) {
      std::span<float> values = bins_.of(g);
      for (float& v : values) v = static_cast<float>(v / level);
      const locating::Score score = judge.score(values);
      slow[g] = judge.is_slow(score) &&
                static_cast<double>(score.low) >= locating::kMaxOf * static_cast<double>(score.n);
      if (!slow[g]) continue;
      Suspect s = judge.suspect(groups_.kind, score);
      (groups_.kind == SuspectKind::rail ? s.rail : s.host) = static_cast<int>(g);
      out.suspects.push_back(s);
    }
    std::sort(out.suspects.begin(), out.suspects.end(),
              [](const Suspect& a, const Suspect& b) { return a.share < b.share; });
    out.slow_units = slow_members(slow, options);
    return out;
  }

 private:
  size_t group(const PairSample& s) const {
    return static_cast<size_t>(groups_.group_of[static_cast<size_t>(s.from)]);
  }

  Bins by_group() const {
    return {static_cast<size_t>(groups_.count), [&](auto add) {
              for (const PairSample& s : samples_) add(group(s), static_cast<float>(s.value));
            }};
  }

  double noise() const {
    std::vector<float> residuals;
    for (const PairSample& s : samples_) {
      if (medians_[group(s)] > 0)
        residuals.push_back(static_cast<float>(s.value / medians_[group(s)] - 1));
    }
    return locating::robust_deviation(residuals);
  }

  std::vector<Suspect> slow_members(const std::vector<bool>& slow,
                                    const LocateOptions& options) const {
    std::vector<PairSample> rest;
    for (const PairSample& s : samples_) {
      if (slow[group(s)]) continue;
      rest.push_back(s);
      rest.back().rail = 0;
    }
    const FleetShape units{.hosts = static_cast<int>(groups_.group_of.size())};
    std::vector<Suspect> out = locate(units, rest, options).suspects;
    std::erase_if(out, [](const Suspect& s) { return s.kind != SuspectKind::host; });
    return out;
  }

  const UnitGroups& groups_;
  const std::vector<PairSample>& samples_;
  Bins bins_;
  std::vector<float> medians_;
  size_t fewest_ = SIZE_MAX;
};

}  // namespace

JudgedGroups judge_groups(const UnitGroups& groups, const std::vector<PairSample>& samples,
                          const LocateOptions& options) {
  GroupJudge judge(groups, samples);
  return judge.can_compare() ? judge.run(options) : JudgedGroups{};
}

}  // namespace cb
