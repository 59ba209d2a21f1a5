#include "bench/network/tcp/plan.h"

#include <algorithm>

#include "bench/harness/fault.h"
#include "bench/network/schedule.h"
#include "core/param_builder.h"

namespace cb::tcp {
namespace {

constexpr int64_t kBandwidthBytes = 131072;
constexpr int64_t kLatencyBytes = 64;

std::vector<int64_t> sizes_of(const Params& params, bool latency) {
  if (params.has("size")) return params.integers("size");
  if (!params.has("min-size")) return {latency ? kLatencyBytes : kBandwidthBytes};
  std::vector<int64_t> out;
  const int64_t last = params.has("max-size") ? params.integer("max-size") : kBandwidthBytes;
  for (int64_t s = params.integer("min-size"); s <= last; s *= params.integer("step-factor"))
    out.push_back(s);
  return out;
}

ZeroCopy zero_copy_of(const std::string& text) {
  if (text == "auto") return ZeroCopy::automatic;
  return text == "on" ? ZeroCopy::on : ZeroCopy::off;
}

// Without --loss one value that changes nothing.
std::vector<double> losses_of(const Params& params) {
  if (!params.has("loss")) return {0};
  std::vector<double> out;
  for (const ParamValue& value : params.all().at("loss")) out.push_back(std::get<double>(value));
  return out;
}

// The filter compares 32 random bits, and a share that is kept needs the bandwidth without loss.
void check_losses(const Params& params, Problems& problems) {
  const std::vector<double> losses = losses_of(params);
  for (const double loss : losses) {
    if (loss > 0 && loss < 0x1p-32)
      problems.add("--loss", "nothing is lost below 2.4e-10 (2^-32): give 0 or more than that");
  }
  if (std::find(losses.begin() + 1, losses.end(), 0.0) != losses.end() && losses.front() != 0)
    problems.add("--loss", "0 must come first: the others are compared with it");
}

Point point(const Params& params, bool latency, bool two_way, int64_t streams, int64_t size,
            double loss = 0) {
  Spec spec{.latency = latency,
            .two_way = two_way,
            .bytes = static_cast<uint64_t>(size),
            .streams = static_cast<int>(streams),
            .seconds = params.number("duration"),
            .repetitions = static_cast<int>(params.integer("repetitions")),
            .verify = params.flag("verify"),
            .spin = params.flag("spin"),
            .zero_copy = zero_copy_of(params.text("zero-copy")),
            .loss = loss};
  if (params.has("buffer")) spec.buffer_bytes = static_cast<uint64_t>(params.integer("buffer"));
  Params of_record = params.with("size", size);
  of_record.set("test", std::string(latency ? "latency" : "bandwidth"));
  of_record.set("direction", std::string(two_way ? "two-way" : "one-way"));
  of_record.set("streams", streams);
  for (const char* name : {"min-size", "max-size", "step-factor"}) of_record.erase(name);
  if (params.has("loss")) of_record.set("loss", loss);
  if (latency) {
    for (const char* name : {"direction", "repetitions", "zero-copy", "loss"})
      of_record.erase(name);
  }
  return {spec, of_record};
}

void add_points(const Params& params, std::vector<Point>& out) {
  for (const std::string& test : params.texts("test")) {
    if (test == "latency") {
      for (const int64_t size : sizes_of(params, true))
        out.push_back(point(params, true, false, 1, size));
      continue;
    }
    for (const std::string& direction : params.texts("direction")) {
      for (const int64_t streams : params.integers("streams")) {
        for (const int64_t size : sizes_of(params, false)) {
          for (const double loss : losses_of(params))
            out.push_back(point(params, false, direction == "two-way", streams, size, loss));
        }
      }
    }
  }
}

}  // namespace

std::vector<ParamDef> params() {
  using namespace param;
  return joined(
      {{choice("test", {"bandwidth", "latency"})
            .help("figure to measure")
            .by_default("bandwidth,latency")
            .list(),
        net::direction_param(),
        integer("streams")
            .help("connections per pair; threads for them as far as there are CPUs")
            .by_default("4")
            .range(1, 256)
            .list()},
       net::sweep_params(
           {.bandwidth = "128K", .latency = "64", .max = 1 << 28, .step_factor = "4"}),
       {duration("duration")
            .help("duration of a pair's measurement without warm-up")
            .by_default("5s")
            .range(0.05, 86400),
        integer("repetitions")
            .help("equal parts of --duration, a sample each")
            .by_default("10")
            .range(1, 10000),
        text("interface")
            .help("names, one per rail, the same positions on every host; auto: where the routes "
                  "lead")
            .by_default("auto")
            .list(),
        flag("rails-together").help("all rails of a host at the same time").by_default("true"),
        choice("zero-copy", {"auto", "on", "off"})
            .help("MSG_ZEROCOPY; auto tries both in the warm-up")
            .by_default("auto"),
        number("loss")
            .help("bandwidth: shares of what arrives that the receiving end throws away, such as "
                  "0,1e-4,1e-3; 0 first gives the share that is kept")
            .range(0, 0.5)
            .list(),
        size("buffer")
            .help("buffer size of the sockets; by default the kernel tunes it")
            .range(2048, 1 << 30),
        flag("spin").help("latency: wait by asking again instead of sleeping"),
        flag("verify").help("compare every byte that arrives; costs bandwidth"),
        fault_param_of_able("flips a bit of what it receives, to prove that --verify sees it")},
       net::schedule_params()});
}

void check_params(const Params& params, Problems& problems) {
  net::check_schedule(params, problems);
  if (params.flag("verify") && params.text("zero-copy") == "on")
    problems.add("--verify", "needs messages of its own each: leave --zero-copy on out");
  if (params.has("inject-fault") && !params.flag("verify"))
    problems.add("--inject-fault", "nobody looks without --verify");
  if (params.has("max-size") && !params.has("min-size"))
    problems.add("--max-size", "needs --min-size");
  const auto tests = params.texts("test");
  if (params.has("loss") && std::find(tests.begin(), tests.end(), "bandwidth") == tests.end())
    problems.add("--loss", "is of bandwidth: give --test bandwidth");
  check_losses(params, problems);
  const auto names = params.texts("interface");
  for (const std::string& name : names) {
    if (name == "auto" && names.size() > 1)
      problems.add("--interface", "auto stands alone: it is one interface");
  }
}

std::vector<Point> plan(const Params& params) {
  std::vector<Point> out;
  for (const Params& one : net::by_schedule(params)) add_points(one, out);
  return out;
}

std::vector<net::Arrivals> arrivals(const std::vector<Point>& points) {
  std::vector<net::Arrivals> out;
  for (const Point& p : points) out.push_back({p.params, p.spec.latency || p.spec.two_way, true});
  return out;
}

}  // namespace cb::tcp
