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
  if (!(std::abs(value) <= kLargestSample)) throw Error("a sample is not a finite number");
  if (!histogram_ && raw_.size() == bound_) {
    histogram_.emplace();
    for (const double v : raw_) histogram_->add(v);
  }
  if (histogram_) {
    histogram_->add(value);
  } else {
    raw_.push_back(value);
  }
}

Summary Samples::summary() const { return histogram_ ? histogram_->summary() : summarise(raw_); }

}  // namespace cb
