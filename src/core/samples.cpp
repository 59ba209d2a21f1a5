#include "core/samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace cb {
namespace {

void require_finite(double value) {
  if (!(std::abs(value) <= kMaxSample)) throw Error("a sample is not a finite number");
}

}  // namespace

Samples Samples::from_histogram(Histogram histogram) {
  Samples out;
  out.histogram_ = std::move(histogram);
  return out;
}

Samples Samples::from_list(std::vector<double> values) {
  for (const double value : values) require_finite(value);
  Samples out(std::max(values.size(), kDefaultBound));
  out.list_ = std::move(values);
  return out;
}

uint64_t Samples::count() const {
  if (summary_) return summary_->n;
  return histogram_ ? histogram_->count() : list_.size();
}

std::span<const double> Samples::list() const {
  require_samples();
  return list_;
}

const Histogram* Samples::histogram() const {
  require_samples();
  return histogram_ ? &*histogram_ : nullptr;
}

void Samples::require_samples() const {
  if (summary_) throw Error("only the summary of these samples was kept");
}

void Samples::keep_summary() {
  if (empty() || summary_) return;
  summary_ = std::make_shared<const Summary>(summary());
  std::vector<double>().swap(list_);
  histogram_.reset();
}

void Samples::add(double value) {
  require_samples();
  require_finite(value);
  if (!histogram_ && list_.size() == bound_) {
    histogram_.emplace();
    for (const double v : list_) histogram_->add(v);
    list_ = {};
  }
  if (histogram_) {
    histogram_->add(value);
  } else {
    list_.push_back(value);
  }
}

Summary Samples::summary() const {
  if (summary_) return *summary_;
  return histogram_ ? histogram_->summary() : summarise(list_);
}

Samples Samples::mapped(const std::function<double(double)>& f) const {
  require_samples();
  if (histogram_) return from_histogram(histogram_->mapped(f));
  Samples out(bound_);
  for (const double v : list_) out.add(f(v));
  return out;
}

}  // namespace cb
