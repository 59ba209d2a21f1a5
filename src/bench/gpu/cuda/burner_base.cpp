#include "bench/gpu/cuda/burner_base.h"

#include <fmt/format.h>

#include "kernels/hash.h"
#include "kernels/sm_chain.h"

namespace cb {
BurnerBase::BurnerBase(const BurnMaker& maker)
    : ordinal_(selected(*maker.unit)),
      where_(fmt::format("{} ({})", entity_name(maker.unit->entity), maker.unit->device.uuid)),
      phase_(maker.phase) {}

void BurnerBase::hang(double seconds) {
  cuda::select(ordinal_);
  cuda::check_launch(kernels::launch_spin(seconds, stream_.handle()), "spin");
}

size_t BurnerBase::begin() {
  cuda::select(ordinal_);
  ++begun_;
  steps_[last()].begin.record(stream_);
  return last();
}

void BurnerBase::prepare_answers(size_t bytes) {
  for (Step& step : steps_) step.answer.emplace(bytes, true);
}

void BurnerBase::answer(const cuda::DeviceMemory& from) {
  Step& step = steps_[last()];
  cuda::copy(step.answer.value().data(), from.data(), from.bytes(), stream_);
  step.answered.record(stream_);
}

size_t BurnerBase::wait(double deadline) {
  cuda::select(ordinal_);
  const size_t oldest = finished_ % kMaxSteps;
  steps_[oldest].answered.wait(deadline, "a step of " + phase_);
  seconds_ = steps_[oldest].end.seconds_since(steps_[oldest].begin);
  ++finished_;
  return oldest;
}

void BurnerBase::note(uint64_t wrong, const Said& what) {
  findings_.wrong += wrong;
  if (wrong > 0 && findings_.first.empty()) findings_.first = said("said.of", where_, what);
}

void BurnerBase::damage(void* data, uint64_t word, Fault fault) {
  constexpr int kBit = 13;
  if (fault == Fault::none) return;
  cuda::check_launch(
      kernels::launch_damage(data, word, kBit, fault == Fault::nan, stream_.handle()), "damage");
}

size_t usable_bytes(const BurnMaker& maker) {
  return static_cast<size_t>(static_cast<double>(cuda::memory_info().free_bytes) *
                             maker.memory_share);
}

std::unique_ptr<Burner> make_burner(const BurnMaker& maker) {
  if (maker.phase == "hbm") return memory_burner(maker);
  if (maker.phase == "sm") return sm_burner(maker);
  if (maker.phase == "march") return march_burner(maker);
  return product_burner(maker);
}

}  // namespace cb
