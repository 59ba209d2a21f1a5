// Scripted samples instead of a measurement: proves runner, gather, verdicts and reports without
// any hardware, with a slow, failing or hanging rank on demand. Hidden from lists. The pattern for
// a new case is skeleton.cpp.
#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/cases.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "core/clock.h"
#include "core/param_builder.h"
#include "core/units.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  return {
      .name = "fake",
      .device = "",
      .summary = "scripted samples, for testing clusterbench itself",
      .example = "clusterbench fake --value 2 --samples 10",
      .domain = "host",
      .needs = {},
      .params = {number("value").help("median of the samples, in bytes per second").by_default("1"),
                 size("size").help("points of the sweep").by_default("1K").at_least(1).list(),
                 integer("samples").help("samples per rank").by_default("20").range(1, 100000),
                 duration("pause").help("rest before each sample").by_default("0s"),
                 integer("skipping-rank").help("this rank is skipped").at_least(0),
                 integer("slow-rank").help("this rank measures half").at_least(0),
                 integer("failing-rank").help("this rank throws an error").at_least(0),
                 size("failing-size").help("fail only at this point of the sweep"),
                 integer("wrong-rank").help("this rank's data check fails").at_least(0),
                 flag("blind").help("the data check sees no fault"),
                 fault_param("gives wrong data, to prove that it is seen"),
                 integer("hanging-rank").help("this rank never comes back").at_least(0)},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher, "scripted"}},
      .checks = {"data"},
      .fault = {.planted = said("fault.data"),
                .checks = {"data"},
                .brief = {{"samples", {"1"}}},
                .point_seconds = 0.1},
      .hidden = true,
  };
}

bool is_me(const Params& params, const char* name, const Context& context) {
  return params.has(name) && params.integer(name) == context.comm.rank();
}

void misbehave(const Context& context, const Params& params, int64_t size) {
  const bool here = !params.has("failing-size") || params.integer("failing-size") == size;
  if (here && is_me(params, "failing-rank", context)) throw Error(said("fake.failed"));
  while (is_me(params, "hanging-rank", context))
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

void rest(const Context& context, double seconds) {
  const double end = monotonic_seconds() + seconds;
  do {
    if (context.cancel.cancelled()) throw Interrupted();
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::clamp(end - monotonic_seconds(), 0.0, 0.05)));
  } while (monotonic_seconds() < end);
}

Record measure(Context& context, const Params& params, int64_t size) {
  misbehave(context, params, size);
  Record record{.case_name = "fake", .params = params.with("size", size)};
  const size_t self =
      record.entity({context.place.host, "rank", std::to_string(context.comm.rank())});
  if (is_me(params, "skipping-rank", context)) {
    record.outcome = Skipped{said("fake.skipped")};
    return record;
  }
  if (plants_fault(context, params)) rest(context, params.number("pause"));
  const bool wrong = is_me(params, "wrong-rank", context) ||
                     (plants_fault(context, params) && !params.flag("blind"));
  record.checks.push_back({.name = "data",
                           .passed = !wrong,
                           .entity = self,
                           .detail = wrong ? said("fake.wrong") : ""});
  if (wrong) return record;  // wrong data yields no number

  const double value = params.number("value") * (is_me(params, "slow-rank", context) ? 0.5 : 1);
  Samples rates;
  const auto samples = static_cast<double>(params.integer("samples"));
  for (int64_t i = 0; i < params.integer("samples"); ++i) {
    rest(context, params.number("pause"));
    rates.add(value * (1 + 0.001 * static_cast<double>(i % 5 - 2)));
    context.watchdog.progress();
    context.progress.update(static_cast<double>(i + 1) / samples, format_size(size));
  }
  record.add("bytes_per_second", self, std::move(rates),
             Ceiling{params.number("value") * 1.25, said("fake.ceiling")});
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  return run_points(
      context, "fake", params.integers("size"),
      [&](int64_t size) {
        return PointName{params.with("size", size), format_size(size)};
      },
      [&](int64_t size) { return measure(context, params, size); });
}

}  // namespace

Case fake_case() { return {describe(), run}; }

}  // namespace cb
