#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/training/backend.h"
#include "core/messages/said.h"
#include "model/training/suspects.h"

namespace cb::training {

// A fault on purpose: --inject-fault.
struct Fault {
  enum class Kind { none, bitflip, nan, inf, slow, weight };
  Kind kind = Kind::none;
  int rank = 0;
  int64_t layer = 0;  // kOwnFirst: the first that the rank computes
  static constexpr int64_t kOwnFirst = -1;
};

// Looks at what a rank computed before others get it, so that what is wrong is found where it
// began: every array for numbers that are not finite, and in a twin step its hash.
template <typename Real>
class Watch {
 public:
  // `fault` is this rank's own: none on all others.
  Watch(Backend<Real>& backend, int64_t layers, const Fault& fault)
      : backend_(backend), layers_(layers), fault_(fault) {}

  void begin_step() {
    not_finite_.reset();
    trace_.clear();
    began_ = 0;
  }
  void record(bool on) { recording_ = on; }
  // From now on nobody waits for what at() finds: it sets one of these marks, of the device's
  // memory, one for each place of a forward pass. The caller clears them, and settle() reads them
  // from the host's.
  void mark_in(Real* marks) { marks_ = marks; }
  int64_t marks() const { return 2 * layers_ + 1; }
  void settle(const Real* marks, int64_t micro_batch);
  void allow_faults(bool on) { faults_ = on; }
  // The array that this place of the step has computed; plants a fault that belongs here.
  void at(const PlaceInStep& place, Real* data, int64_t count);
  // Where that place's mark is, if setting it is all that at() does; else null.
  Real* only_mark(const PlaceInStep& place) const;
  // A hash of something else, in a twin step.
  void note(const PlaceInStep& place, const Real* data, int64_t count);

  // Where the first number was not finite in this step.
  const std::optional<PlaceInStep>& not_finite() const { return not_finite_; }
  const std::vector<TracePoint>& trace() const { return trace_; }

 private:
  void plant(const PlaceInStep& place, Real* data, int64_t count);
  void linger();
  int64_t mark_of(const PlaceInStep& place) const;

  Backend<Real>& backend_;
  int64_t layers_;
  Fault fault_;
  bool recording_ = false, faults_ = true;
  Real* marks_ = nullptr;  // null: at() waits for what it finds
  double began_ = 0;       // end of the last place: a slow rank takes longer from there
  std::optional<PlaceInStep> not_finite_;
  std::vector<TracePoint> trace_;
};

extern template class Watch<float>;
extern template class Watch<double>;

}  // namespace cb::training
