// A case of which every line explains itself: copy this file to begin a new one. It copies a buffer
// within the memory of each rank. It is hidden from lists, but compiled, run and tested.
#include <cstddef>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/clock.h"
#include "core/param_builder.h"
#include "core/units.h"

namespace cb {
namespace {

// All that is known of the case without running it. `list`, `--help`, profiles and completion read
// this and nothing else. A parameter is built from its type and name: what it means, its default as
// a user would write it (none: absent unless given), its limits, whether it is a list. What several
// cases have is in shared_params.h.
CaseInfo describe() {
  using namespace param;
  return {
      .name = "skeleton",
      .device = "",
      .summary = "a pattern for new cases: copies a buffer within memory",
      .example = "clusterbench skeleton --size 64K,1M --json s.json",
      .domain = "memory",
      .params = {size("size").help("bytes to copy").by_default("1M").range(8, 1 << 30).list(),
                 sampling_param("1s"),
                 fault_param("spoils a byte of its copy, to prove that it is seen")},
      // The unit of each metric is SI and stands in its name. It is stated here and nowhere else.
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes copied over time"},
                  {"latency_seconds", "seconds", Better::lower, "of looking at the first byte"}},
      .checks = {"data"},
      // How `run --prove` shows that the check can fail: what --inject-fault spoils, the check that
      // has to see it, and what makes such a job short.
      .fault = {.planted = said("fault.copy"),
                .checks = {"data"},
                .brief = {{"duration", {"10ms"}}},
                .point_seconds = 0.1},
      .hidden = true,
  };
}

constexpr std::byte kPattern{0x5a};

// What one point works on. A destructor frees it, also when the measurement is interrupted.
struct SkeletonBuffers {
  explicit SkeletonBuffers(int64_t bytes)
      : from(static_cast<size_t>(bytes), kPattern), to(from.size()) {}
  std::vector<std::byte> from, to;
};

// The sampler owns warm-up, barriers and the end. An iteration returns its own seconds, and gives
// under the names of plan.spans what else it timed.
SampleRun sample_copies(Context& context, const Params& params, SkeletonBuffers& buffers) {
  SamplePlan plan{.what = "copy", .spans = {"look"}};
  plan.stop.max_seconds = params.number("duration");
  return context.sampler.measure_spans(plan, [&](Spans& spans) {
    context.comm.barrier();  // all ranks copy at the same time
    const double start = monotonic_seconds();
    std::memcpy(buffers.to.data(), buffers.from.data(), buffers.from.size());
    const double copied = monotonic_seconds();
    const volatile std::byte first = buffers.to.front();
    static_cast<void>(first);
    spans.add("look", monotonic_seconds() - copied);
    return copied - start;
  });
}

// Wrong data gives a failed check and no number. False where it is wrong.
bool add_data_check(Record& record, const Context& context, size_t self,
                    const SkeletonBuffers& buffers) {
  const bool right = buffers.to == buffers.from;
  record.checks.push_back({.name = "data",
                           .passed = right,
                           .entity = self,
                           .detail = right ? Said() : said("skeleton.differs", context.who())});
  return right;
}

// One record: this rank's share. The runner joins the shares of all ranks.
Record measure_size(Context& context, const Params& params, int64_t size) {
  Record record{.case_name = "skeleton", .params = params.with("size", size)};
  const size_t self =
      record.entity({context.place.host, "rank", std::to_string(context.comm.rank())});
  SkeletonBuffers buffers(size);
  const SampleRun run = sample_copies(context, params, buffers);
  // Where a real fault would come: after the work, before the check.
  if (plants_fault(context, params)) buffers.to[buffers.to.size() / 2] ^= std::byte{1};
  if (!add_data_check(record, context, self, buffers)) return record;

  // Figures come from all samples, in both forms that Samples has.
  const auto bytes = static_cast<double>(size);
  const Samples rates = run.seconds.mapped([&](double seconds) { return bytes / seconds; });
  // A ceiling is what physics or a measurement in the same record allows, and says where it is
  // from.
  record.add("bytes_per_second", self, rates,
             Ceiling{rates.summary().max, said("skeleton.fastest")});
  Samples looks;
  for (const double seconds : run.spans.of("look")) looks.add(seconds);
  record.add("latency_seconds", self, std::move(looks));
  record.facts["copied_with"] = "memcpy";  // how it was measured, for whoever reads the figures
  return record;
}

// The points, one after the other. run_points() owns progress, times, what is finished when a
// signal comes, and a point that fails.
std::vector<Record> run_sizes(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  return run_points(
      context, "skeleton", params.integers("size"),
      [&](int64_t size) {
        return PointName{params.with("size", size), "copy " + format_size(size)};
      },
      [&](int64_t size) { return measure_size(context, params, size); });
}

// What is wrong with parameters that are each right by themselves is told before anything is run.
void check_sizes(const Params& params, Problems& problems) {
  for (const int64_t size : params.integers("size")) {
    if (size % 8 != 0) problems.add("--size", fmt::format("{} is no multiple of 8 bytes", size));
  }
}

}  // namespace

Case skeleton_case() { return {describe(), run_sizes, check_sizes}; }

}  // namespace cb
