#include "model/training/synthetic_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/counter_random.h"

namespace cb::training {

double loss_floor(const TextRule& rule) {
  const auto k = static_cast<double>(rule.symbols);
  const double rare = rule.noise / k, likely = 1 - rule.noise + rare;
  double entropy = -likely * std::log(likely);
  if (rare > 0) entropy -= (k - 1) * rare * std::log(rare);
  return entropy;
}

double first_loss(int64_t vocabulary, double logit_variance) {
  return std::log(static_cast<double>(vocabulary)) + logit_variance / 2;
}

Text::Text(const TextRule& rule, uint64_t seed)
    : rule_(rule), seed_(mixed(seed)), next_(static_cast<size_t>(rule.symbols)) {
  const int64_t stride = rule.vocabulary / rule.symbols;
  for (int64_t i = 0; i < rule.symbols; ++i) {
    const uint64_t within = mixed(seed_ ^ static_cast<uint64_t>(i)) % static_cast<uint64_t>(stride);
    symbols_.push_back(static_cast<int32_t>(i * stride + static_cast<int64_t>(within)));
  }
  std::iota(next_.begin(), next_.end(), 0);
  for (size_t i = next_.size() - 1; i > 0; --i)
    std::swap(next_[i], next_[mixed(seed_ + 0x1000000 + i) % (i + 1)]);
}

void Text::write(int64_t sequence, int64_t length, int32_t* tokens) const {
  const uint64_t stream = mixed(seed_ ^ mixed(static_cast<uint64_t>(sequence) + 1));
  const auto k = static_cast<uint64_t>(rule_.symbols);
  size_t at = 0;
  for (int64_t i = 0; i < length; ++i) {
    const uint64_t drawn = mixed(stream + static_cast<uint64_t>(i));
    const bool follows = i > 0 && unit_of(drawn) >= rule_.noise;
    at = follows ? static_cast<size_t>(next_[at]) : static_cast<size_t>(mixed(drawn) % k);
    tokens[i] = symbols_[at];
  }
}

int32_t Text::successor(int32_t token) const {
  const auto at = std::find(symbols_.begin(), symbols_.end(), token) - symbols_.begin();
  return symbols_.at(static_cast<size_t>(next_.at(static_cast<size_t>(at))));
}

}  // namespace cb::training
