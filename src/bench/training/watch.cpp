#include "bench/training/watch.h"

#include <algorithm>
#include <limits>

#include "core/clock.h"

namespace cb::training {
namespace {

constexpr double kSlowBy = 0.5;  // a slow rank takes this share longer

}  // namespace

template <typename Real>
void Watch<Real>::linger() {
  const double now = monotonic_seconds();
  const double until = began_ > 0 ? now + kSlowBy * (now - began_) : now;
  while (monotonic_seconds() < until) {
  }
  began_ = monotonic_seconds();
}

template <typename Real>
void Watch<Real>::plant(const PlaceInStep& place, Real* data, int64_t count) {
  if (fault_.kind == Fault::Kind::slow) return linger();
  if (place.part != PlaceInStep::Part::forward_feed_forward || place.layer != fault_.layer) return;
  Real* element = data + count / 2;
  if (fault_.kind == Fault::Kind::bitflip) backend_.flip_bit(element);
  if (fault_.kind == Fault::Kind::nan) backend_.make_nan(element);
  const Real infinite = std::numeric_limits<Real>::infinity();
  if (fault_.kind == Fault::Kind::inf) backend_.put(element, &infinite, 1);
}

template <typename Real>
int64_t Watch<Real>::mark_of(const PlaceInStep& place) const {
  if (place.part == PlaceInStep::Part::head) return 2 * layers_;
  return 2 * place.layer + (place.part == PlaceInStep::Part::forward_feed_forward ? 1 : 0);
}

template <typename Real>
void Watch<Real>::settle(const Real* marks, int64_t micro_batch) {
  const int64_t at =
      std::find_if(marks, marks + this->marks(), [](Real m) { return m != 0; }) - marks;
  if (at == this->marks()) return;
  using Part = PlaceInStep::Part;
  const Part part = at == 2 * layers_ ? Part::head
                    : at % 2 == 1     ? Part::forward_feed_forward
                                      : Part::forward_attention;
  not_finite_ = PlaceInStep{part, at / 2, micro_batch};
}

template <typename Real>
void Watch<Real>::at(const PlaceInStep& place, Real* data, int64_t count) {
  if (faults_ && fault_.kind != Fault::Kind::none) plant(place, data, count);
  if (marks_ != nullptr)
    backend_.mark_not_finite(data, count, marks_ + mark_of(place));
  else if (!not_finite_ && backend_.not_finite(data, count) > 0)
    not_finite_ = place;
  note(place, data, count);
}

template <typename Real>
Real* Watch<Real>::only_mark(const PlaceInStep& place) const {
  const bool plants = faults_ && fault_.kind != Fault::Kind::none;
  return marks_ == nullptr || plants || recording_ ? nullptr : marks_ + mark_of(place);
}

template <typename Real>
void Watch<Real>::note(const PlaceInStep& place, const Real* data, int64_t count) {
  if (recording_) trace_.push_back({place.order(layers_), backend_.hash(data, count)});
}

template class Watch<float>;
template class Watch<double>;

}  // namespace cb::training
