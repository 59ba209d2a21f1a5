#include "bench/gpu/cuda/overhead_probe.h"

#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "bench/gpu/cuda/mover_base.h"
#include "core/clock.h"
#include "kernels/overhead.h"
#include "kernels/pattern.h"
#include "sys/gpu/cuda/graph.h"

namespace cb {
namespace {

double seconds_of(const std::function<void()>& work) {
  const double start = monotonic_seconds();
  work();
  return monotonic_seconds() - start;
}

// A counter on the device, to which each launch adds one.
class Counter {
 public:
  explicit Counter(const cuda::Stream& stream) : stream_(stream) {
    cuda::zero(memory_.data(), memory_.bytes(), stream);
  }
  void launch() {
    cuda::check_launch(
        kernels::launch_count(static_cast<uint64_t*>(memory_.data()), stream_.handle()), "count");
  }
  void expect(int64_t launches) { expected_ += static_cast<uint64_t>(launches); }
  // Counts one launch that was not made if `spoilt`.
  bool right(bool spoilt, const GpuUnit& unit, Said& what) {
    if (spoilt) ++expected_;
    uint64_t counted = 0;
    cuda::fetch(&counted, memory_.data(), sizeof counted, stream_, kGpuHangSeconds, "count");
    if (counted == expected_ && expected_ > 0) return true;
    what = said("overhead.count_wrong", unit.entity.id, unit.device.uuid, counted, expected_);
    return false;
  }

 private:
  const cuda::Stream& stream_;
  cuda::DeviceMemory memory_{sizeof(uint64_t)};
  uint64_t expected_ = 0;
};

// What every probe has.
class ProbeBase : public OverheadProbe {
 public:
  ProbeBase(const OverheadPlan& plan, const GpuUnit& unit)
      : unit_(unit), ordinal_(selected(unit)), plan_(plan) {}

 protected:
  void select() const { cuda::select(ordinal_); }

  const GpuUnit& unit_;
  int ordinal_;
  OverheadPlan plan_;
  cuda::Stream stream_;
};

// Kernels one after the other, launched one by one or as a graph.
class LaunchProbe final : public ProbeBase {
 public:
  LaunchProbe(const OverheadPlan& plan, const GpuUnit& unit, bool with_graph)
      : ProbeBase(plan, unit), with_graph_(with_graph) {
    if (!with_graph) return;
    cuda::Graph::begin(stream_);
    try {
      for (int64_t i = 0; i < plan_.launches; ++i) counter_.launch();
    } catch (...) {
      cuda::Graph::abandon(stream_);
      throw;
    }
    graph_.end(stream_);
  }

  std::vector<std::string> names() const override {
    if (with_graph_) return {"graph_launch_seconds", "graph_interval_seconds", "graph_speedup"};
    return {"launch_seconds", "launch_interval_seconds", "kernels_per_second"};
  }
  const char* check() const override { return "count"; }

  void sample(Spans& spans) override {
    select();
    const auto n = static_cast<double>(plan_.launches);
    double host = 0;
    const double counted = timed([&] { launch_each([&] { counter_.launch(); }); }, host) / n;
    counter_.expect(plan_.launches);
    if (!with_graph_) {
      const double empty = timed([&] { launch_each([&] { launch_empty(); }); }, host) / n;
      spans.add("launch_seconds", host / n);
      spans.add("launch_interval_seconds", empty);
      spans.add("kernels_per_second", 1 / counted);
      return;
    }
    const double in_graph = timed([&] { graph_.launch(stream_); }, host) / n;
    counter_.expect(plan_.launches);
    spans.add("graph_launch_seconds", host);
    spans.add("graph_interval_seconds", in_graph);
    spans.add("graph_speedup", counted / in_graph);
  }

  bool right(bool spoilt, Said& what) override {
    select();
    return counter_.right(spoilt, unit_, what);
  }

 private:
  void launch_each(const std::function<void()>& launch) const {
    for (int64_t i = 0; i < plan_.launches; ++i) launch();
  }
  void launch_empty() const {
    cuda::check_launch(kernels::launch_count(nullptr, stream_.handle()), "empty");
  }

  // Seconds of the GPU between two events around the work; `host`: of the host for queueing it.
  double timed(const std::function<void()>& work, double& host) {
    begin_.record(stream_);
    host = seconds_of(work);
    end_.record(stream_);
    end_.wait(kGpuHangSeconds, "launches");
    return end_.seconds_since(begin_);
  }

  bool with_graph_;
  cuda::Event begin_, end_;
  Counter counter_{stream_};
  cuda::Graph graph_;
};

// One launch and its end, as the host sees it.
class RoundTripProbe final : public ProbeBase {
 public:
  using ProbeBase::ProbeBase;
  std::vector<std::string> names() const override { return {"round_trip_seconds"}; }
  const char* check() const override { return "count"; }

  void sample(Spans& spans) override {
    select();
    spans.add("round_trip_seconds", seconds_of([&] {
                counter_.launch();
                end_.record(stream_);
                end_.spin(kGpuHangSeconds, "launch");
              }));
    counter_.expect(1);
  }
  bool right(bool spoilt, Said& what) override {
    select();
    return counter_.right(spoilt, unit_, what);
  }

 private:
  cuda::Event end_;
  Counter counter_{stream_};
};

// A few bytes of pinned memory to the device and back: other bytes each time, compared on the
// device and again on the host.
class CopyProbe final : public ProbeBase {
 public:
  CopyProbe(const OverheadPlan& plan, const GpuUnit& unit)
      : ProbeBase(plan, unit),
        from_(static_cast<size_t>(plan.copy_bytes), true),
        back_(static_cast<size_t>(plan.copy_bytes), true),
        device_(static_cast<size_t>(plan.copy_bytes)) {}

  std::vector<std::string> names() const override {
    return {"copy_to_device_seconds", "copy_to_host_seconds"};
  }
  const char* check() const override { return "pattern"; }

  void sample(Spans& spans) override {
    select();
    ++round_;
    auto* bytes = static_cast<unsigned char*>(from_.data());
    for (size_t i = 0; i < from_.bytes(); ++i) bytes[i] = kernels::pattern_byte(i, round_);
    std::memset(back_.data(), ~bytes[0], back_.bytes());
    spans.add("copy_to_device_seconds", seconds_of([&] { copy(device_.data(), from_.data()); }));
    const DataErrors there =
        verify_device(device_.data(), device_.bytes(), round_, verdict_, stream_, "");
    spans.add("copy_to_host_seconds", seconds_of([&] { copy(back_.data(), device_.data()); }));
    if (there.wrong > 0) ++wrong_;
    compare();
  }

  bool right(bool spoilt, Said& what) override {
    if (spoilt) {
      static_cast<unsigned char*>(back_.data())[0] ^= 1;
      compare();
    }
    if (wrong_ == 0 && round_ > 0) return true;
    what = said("overhead.copies_wrong", unit_.entity.id, unit_.device.uuid, wrong_, 2 * round_);
    return false;
  }

 private:
  void copy(void* to, const void* from) {
    cuda::copy(to, from, from_.bytes(), stream_);
    end_.record(stream_);
    end_.spin(kGpuHangSeconds, "copy");
  }
  void compare() {
    if (std::memcmp(from_.data(), back_.data(), from_.bytes()) != 0) ++wrong_;
  }

  cuda::HostMemory from_, back_;
  cuda::DeviceMemory device_;
  cuda::DeviceMemory verdict_{sizeof(kernels::VerifyResult)};
  cuda::Event end_;
  uint64_t round_ = 0, wrong_ = 0;
};

// Allocating and freeing, by the driver and from the pool. What is allocated must hold data.
class AllocateProbe final : public ProbeBase {
 public:
  AllocateProbe(const OverheadPlan& plan, const GpuUnit& unit) : ProbeBase(plan, unit) {
    // Something in the pool's memory stays allocated, so that the pool keeps it: a program that
    // lives from its pool does the same.
    kept_.emplace(bytes(), stream_);
    cuda::PoolMemory first(bytes(), stream_);
  }

  std::vector<std::string> names() const override {
    return {"malloc_seconds", "free_seconds", "pool_malloc_seconds", "pool_free_seconds"};
  }
  const char* check() const override { return "pattern"; }

  void sample(Spans& spans) override {
    select();
    ++round_;
    std::optional<cuda::DeviceMemory> memory;
    spans.add("malloc_seconds", seconds_of([&] { memory.emplace(bytes()); }));
    look(memory->data());
    spans.add("free_seconds", seconds_of([&] { memory.reset(); }));
    std::optional<cuda::PoolMemory> pooled;
    spans.add("pool_malloc_seconds", seconds_of([&] { pooled.emplace(bytes(), stream_); }));
    look(pooled->data());
    spans.add("pool_free_seconds", seconds_of([&] { pooled.reset(); }));
  }

  bool right(bool spoilt, Said& what) override {
    if (spoilt) ++wrong_;
    if (wrong_ == 0 && round_ > 0) return true;
    what = said("overhead.memory_wrong", unit_.entity.id, unit_.device.uuid, wrong_, 2 * round_);
    return false;
  }

 private:
  size_t bytes() const { return static_cast<size_t>(plan_.allocation_bytes); }

  // The first and the last word hold what is written into them.
  void look(void* memory) {
    constexpr uint8_t kFirst = 0x5a, kLast = 0xc3;
    auto* const at = static_cast<std::byte*>(memory);
    auto* const last = at + bytes() - 8;
    cuda::fill(at, kFirst, 8, stream_);
    cuda::fill(last, kLast, 8, stream_);
    uint8_t got[16] = {};
    cuda::fetch(got, at, 8, stream_, kGpuHangSeconds, "allocation");
    cuda::fetch(got + 8, last, 8, stream_, kGpuHangSeconds, "allocation");
    for (int i = 0; i < 16; ++i) {
      if (got[i] == (i < 8 ? kFirst : kLast)) continue;
      ++wrong_;
      return;
    }
  }

  std::optional<cuda::PoolMemory> kept_;
  uint64_t round_ = 0, wrong_ = 0;
};

}  // namespace

std::unique_ptr<OverheadProbe> overhead_probe(const std::string& op, const OverheadPlan& plan,
                                              const GpuUnit& unit) {
  if (op == "round_trip") return std::make_unique<RoundTripProbe>(plan, unit);
  if (op == "copy") return std::make_unique<CopyProbe>(plan, unit);
  if (op == "allocate") return std::make_unique<AllocateProbe>(plan, unit);
  return std::make_unique<LaunchProbe>(plan, unit, op == "graph");
}

}  // namespace cb
