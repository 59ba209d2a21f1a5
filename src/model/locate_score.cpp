#include "model/locate_score.h"

#include <cmath>
#include <set>

namespace cb::locating {
namespace {

// The standard error of a median of n normal samples is 1.2533 σ/√n.
constexpr double kMedianError = 1.2533;
constexpr double kMadToSigma = 1.4826;
// The noise of a fleet is assumed to be at least this.
constexpr double kMinNoise = 1e-4;

std::vector<double> medians(Bins& bins) {
  std::vector<double> out(bins.parts(), 0);
  for (size_t i = 0; i < bins.parts(); ++i) {
    if (!bins.of(i).empty()) out[i] = middle(bins.of(i));
  }
  return out;
}

double median_of_medians(Bins& bins) {
  std::vector<float> out;
  for (const double m : medians(bins)) {
    if (m > 0) out.push_back(static_cast<float>(m));
  }
  return out.empty() ? 0 : middle(out);
}

class Leveller {
 public:
  Leveller(const FleetShape& fleet, const std::vector<PairSample>& samples,
           const LocateOptions& options)
      : fleet_(fleet), all_(samples), tolerance_(options.tolerance), local_(within_leaves()) {}

  Levelled run() {
    Bins both(fleet_.nics(), [&](auto add) {
      for_each([&](const PairSample& s) {
        add(from(s), static_cast<float>(s.value));
        add(to(s), static_cast<float>(s.value));
      });
    });
    const double level = median_of_medians(both);
    Levelled out;
    if (level <= 0) return out;
    find_ends();
    out.noise = std::max(kMinNoise, noise());
    const double alone = level_alone(level);
    out.samples.reserve(all_.size());
    for (const PairSample& s : all_) {
      out.samples.push_back(
          {s.from, s.to, s.rail, static_cast<float>(s.value / (s.alone ? alone : level)), s.alone});
    }
    return out;
  }

 private:
  size_t from(const PairSample& s) const { return fleet_.nic(s.from, s.rail); }
  size_t to(const PairSample& s) const { return fleet_.nic(s.to, s.rail); }

  bool crosses(const PairSample& s) const {
    return fleet_.leaf_of(s.from, s.rail) != fleet_.leaf_of(s.to, s.rail);
  }

  // True if only traffic inside leaves is the reference.
  bool within_leaves() const {
    if (std::set<int>(fleet_.leaf.begin(), fleet_.leaf.end()).size() != 2) return false;
    return std::any_of(all_.begin(), all_.end(),
                       [&](const PairSample& s) { return !s.alone && !crosses(s); });
  }

  template <typename F>
  void for_each(F f) const {
    for (const PairSample& s : all_) {
      if (!s.alone && !(local_ && crosses(s))) f(s);
    }
  }

  void find_ends() {
    Bins sent(fleet_.nics(), [&](auto add) {
      for_each([&](const PairSample& s) { add(from(s), static_cast<float>(s.value)); });
    });
    sends_ = medians(sent);
    Bins received(fleet_.nics(), [&](auto add) {
      for_each([&](const PairSample& s) { add(to(s), static_cast<float>(s.value)); });
    });
    receives_ = medians(received);
  }

  double expected(const PairSample& s) const { return std::min(sends_[from(s)], receives_[to(s)]); }

  double noise() const {
    std::vector<float> residuals;
    for_each([&](const PairSample& s) {
      if (expected(s) > 0) residuals.push_back(static_cast<float>(s.value / expected(s) - 1));
    });
    return robust_deviation(residuals);
  }

  // A transfer alone may be faster. It is compared with transfers between sound NICs alone, if
  // there are enough.
  double level_alone(double level) const {
    std::vector<float> sound;
    for (const PairSample& s : all_) {
      if (s.alone && expected(s) >= (1 - tolerance_) * level)
        sound.push_back(static_cast<float>(s.value));
    }
    return sound.size() >= kMinSamples ? middle(sound) : level;
  }

  const FleetShape& fleet_;
  const std::vector<PairSample>& all_;
  double tolerance_;
  bool local_;
  std::vector<double> sends_, receives_;  // medians by NIC; 0 without a sample
};

}  // namespace

double middle(std::span<float> values) {
  const auto mid = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  if (values.size() % 2 == 1) return *mid;
  return (static_cast<double>(*mid) + *std::max_element(values.begin(), mid)) / 2;
}

double robust_deviation(std::vector<float>& deviations) {
  if (deviations.empty()) return 0;
  for (float& d : deviations) d = std::abs(d);
  return kMadToSigma * middle(deviations);
}

double Judge::noise_bound(size_t n) const {
  return options_.sigmas * kMedianError * noise_ /
         std::sqrt(static_cast<double>(std::max<size_t>(n, 1)));
}

bool Judge::is_slow(const Score& s) const {
  return s.n >= kMinSamples && s.share < 1 - std::max(options_.tolerance, noise_bound(s.n));
}

Score Judge::score(std::span<float> values) const {
  Score s{.n = values.size()};
  if (values.empty()) return s;
  s.share = middle(values);
  s.low = static_cast<size_t>(std::count_if(values.begin(), values.end(),
                                            [&](float x) { return x < 1 - options_.tolerance; }));
  return s;
}

double Judge::confidence(const Score& s) const {
  const double z = (1 - s.share) / (kMedianError * noise_ / std::sqrt(static_cast<double>(s.n)));
  return 1 - 0.5 * std::erfc(z / std::sqrt(2.0));
}

Suspect Judge::suspect(SuspectKind kind, const Score& s) const {
  return {
      .kind = kind, .share = s.share, .low = s.low, .samples = s.n, .confidence = confidence(s)};
}

Levelled divide_by_level(const FleetShape& fleet, const std::vector<PairSample>& samples,
                         const LocateOptions& options) {
  return Leveller(fleet, samples, options).run();
}

}  // namespace cb::locating
