#include "core/samples.h"

#include <cmath>
#include <utility>

#include "core/error.h"

namespace cb {

Samples Samples::from_histogram(Histogram histogram) {
  Samples out;
  out.histogram_ = std::move(histogram);
  return out;
}

void Samples::add(double value) {
  if (!(std::abs(value) <= kMaxSample)) throw Error("a sample is not a finite number");
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

Summary Samples::summary() const { return histogram_ ? histogram_->summary() : summarise(list_); }

Samples Samples::mapped(const std::function<double(double)>& f) const {
  if (histogram_) return from_histogram(histogram_->mapped(f));
  Samples out(bound_);
  for (const double v : list_) out.add(f(v));
  return out;
}

}  // namespace cb
