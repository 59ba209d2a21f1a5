// All CPUs of the ranks' hosts at full load for a time: fused multiply-adds in the second-level
// cache and integer work on memory, every pass compared to the last bit with the known answer.
// Starting threads and the last, unfinished pass are not counted. docs/methods/burn.md.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/cpu/burn/cpus.h"
#include "bench/cpu/burn/rates.h"
#include "bench/cpu/burn/worker.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "bench/harness/telemetry.h"
#include "core/clock.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  return {
      .name = "burn",
      .device = "cpu",
      .summary = "all CPUs at full load, every result compared to the last bit",
      .example = "clusterbench burn --device cpu --duration 10m --json burn.json",
      .domain = "stability",
      .needs = {},
      .params =
          {device_param("cpu", "what to load"),
           duration("duration").help("duration of the burn").by_default("20s").at_least(0.001),
           fault_param("flips a bit in the first pass of its first CPU, to prove that it is "
                       "seen")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher,
                   "of a host, per second of the run, memory phases included in the time"},
                  {"passes_per_second", "count per second", Better::higher,
                   "of a CPU, per second of the run"}},
      .checks = {"result"},
      .fault = {.planted = said("fault.result_bit"),
                .checks = {"result"},
                .brief = {{"duration", {"3s"}}},
                .point_seconds = 3},
  };
}

constexpr auto kTick = std::chrono::milliseconds(50);
// How often the ranks ask each other whether one was told to stop.
constexpr double kVoteSeconds = 0.2;
constexpr double kMaxWindowSeconds = 1;

class Burn {
 public:
  Burn(Context& context, const Params& params)
      : context_(context), seconds_(params.number("duration")), cpus_(cpus_of_this_rank(context)) {
    Problems problems;
    uint64_t faulty_pass = 0;
    check_faulty_rank(context, params, problems);
    if (plants_fault(context, params)) {
      if (cpus_.empty())
        problems.add("--inject-fault",
                     fmt::format("rank {} has no CPU to burn", context.comm.rank()));
      faulty_pass = 1;
    }
    throw_agreed(context.comm, "clusterbench burn", problems);
    faulty_pass_ = faulty_pass;
  }

  // Collective. Loads the CPUs for the whole time; throws Interrupted on every rank if one was told
  // to stop.
  void run() {
    context_.comm.barrier();
    for (const int cpu : cpus_) {
      workers_.emplace_back(std::make_unique<BurnWorker>(cpu, burn_gemms().front().run, stop_,
                                                         workers_.empty() ? faulty_pass_ : 0));
    }
    const bool interrupted = wait();
    stop_ = true;
    for (auto& w : workers_) w->join();
    if (interrupted) throw Interrupted();
  }

  void add_to(Record& record) {
    add_hosts(record);  // collective, so before anything that may throw on one rank
    for (size_t i = 0; i < workers_.size(); ++i) add_worker(record, i);
    record.facts["kernel"] = burn_gemms().front().name;
  }

  ~Burn() { stop_ = true; }
  Burn(const Burn&) = delete;
  Burn& operator=(const Burn&) = delete;

 private:
  std::vector<uint64_t> rounds() const {
    std::vector<uint64_t> out;
    for (const auto& w : workers_) out.push_back(w->rounds());
    return out;
  }

  // True if some rank was told to stop. Every rank votes the same number of times, however late it
  // wakes up.
  bool wait() {
    const double start = monotonic_seconds();
    windows_ = RateWindows(std::min(kMaxWindowSeconds, seconds_ / 6), workers_.size());
    windows_.start(start, rounds());
    uint64_t moved = 0;
    const auto votes = static_cast<uint64_t>(std::ceil(seconds_ / kVoteSeconds));
    for (uint64_t vote = 1; vote <= votes; ++vote) {
      const double until = start + std::min(static_cast<double>(vote) * kVoteSeconds, seconds_);
      for (double now = monotonic_seconds(); now < until; now = monotonic_seconds()) {
        std::this_thread::sleep_for(std::min(std::chrono::duration<double>(kTick),
                                             std::chrono::duration<double>(until - now)));
        windows_.add(monotonic_seconds(), rounds());
        watch(moved);
        context_.progress.update((now - start) / seconds_, status());
      }
      if (context_.comm.any(context_.cancel.cancelled())) return true;
    }
    return false;
  }

  // CPUs that compute nothing any more are for the watchdog.
  void watch(uint64_t& moved) {
    uint64_t sum = 0;
    for (const auto& w : workers_) sum += w->rounds();
    if (sum == moved && !workers_.empty()) return;
    moved = sum;
    context_.watchdog.progress();
  }

  std::string status() const {
    uint64_t passes = 0;
    uint64_t wrong = 0;
    for (const auto& w : workers_) {
      passes += w->passes();
      wrong += w->wrong();
    }
    return fmt::format("burn, {} CPUs, {} passes, {} wrong", workers_.size(), passes, wrong);
  }

  void add_worker(Record& record, size_t i) {
    const BurnWorker& w = *workers_[i];
    if (!w.failure().empty()) throw Error(said("burn.cpu_ended", w.cpu(), w.failure()));
    if (w.passes() == 0) {
      throw Error(said("burn.no_pass_in_time", w.cpu(), fmt::format("{}", seconds_)));
    }
    const size_t cpu = record.entity({context_.place.host, "cpu", std::to_string(w.cpu())});
    record.checks.push_back({.name = "result",
                             .passed = w.wrong() == 0,
                             .value = static_cast<double>(w.wrong()),
                             .limit = 0,
                             .entity = cpu,
                             .detail = w.wrong() == 0
                                           ? Said()
                                           : said("burn.cpu_wrong", context_.who(), w.cpu(),
                                                  w.wrong(), w.passes(), w.first_wrong())});
    Samples passes;
    for (const double rounds : windows_.rates(i))
      passes.add(rounds / static_cast<double>(BurnWork::kRounds));
    if (!passes.empty()) record.add("passes_per_second", cpu, std::move(passes));
  }

  // Only windows that every rank of the host has seen.
  static void add_rates(std::vector<double>& host, const std::vector<double>& rank) {
    if (host.empty()) {
      host = rank;
      return;
    }
    host.resize(std::min(host.size(), rank.size()));
    for (size_t w = 0; w < host.size(); ++w) host[w] += rank[w];
  }

  // Collective. A host's rate is the sum over its ranks, window by window; rank 0 adds all hosts.
  void add_hosts(Record& record) {
    std::string mine;
    for (const double rounds : windows_.total()) mine += fmt::format("{} ", rounds);
    const std::vector<std::string> all = context_.comm.gather(mine);
    std::vector<std::vector<double>> hosts(context_.place.hosts.size());
    for (size_t rank = 0; rank < all.size(); ++rank) {
      std::istringstream numbers(all[rank]);
      const std::vector<double> one{std::istream_iterator<double>(numbers), {}};
      if (!one.empty())
        add_rates(hosts[static_cast<size_t>(context_.place.host_of_rank[rank])], one);
    }
    for (size_t h = 0; context_.comm.is_root() && h < hosts.size(); ++h) {
      if (hosts[h].empty()) continue;
      Samples rates;
      for (const double rounds : hosts[h]) rates.add(rounds * BurnWork::kFlopsPerRound);
      record.add("flops_per_second", record.entity({context_.place.hosts[h], "host", ""}),
                 std::move(rates));
    }
  }

  Context& context_;
  double seconds_;
  std::vector<int> cpus_;
  uint64_t faulty_pass_ = 0;
  std::atomic<bool> stop_{false};
  std::deque<std::unique_ptr<BurnWorker>> workers_;
  RateWindows windows_{1, 0};
};

Record burn_once(Context& context, const Params& params) {
  Record record{.case_name = "burn", .params = params};
  record.started = utc_now();
  Burn burn(context, params);
  std::optional<TelemetrySampler> telemetry;  // the sensors are the host's: one rank reads them
  if (context.place.first_on_host()) telemetry.emplace(context.fs);
  context.watchdog.note("burning");
  burn.run();
  if (telemetry) telemetry->stop(record, context.place.host);
  burn.add_to(record);
  record.ended = utc_now();
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  return run_points(context, "burn", {{params, "burn"}},
                    [&](size_t) { return std::vector<Record>{burn_once(context, params)}; });
}

}  // namespace

Case burn_cpu_case() { return {describe(), run}; }

}  // namespace cb
