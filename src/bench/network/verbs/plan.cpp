#include "bench/network/verbs/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/harness/fault.h"
#include "bench/network/schedule.h"
#include "core/param_builder.h"

namespace cb::verbs {
namespace {

constexpr uint64_t kAtomicBytes = 8;
constexpr uint64_t kBandwidthBytes = uint64_t{1} << 20;
constexpr uint64_t kLatencyBytes = 8;

const std::map<std::string, Verb> kVerbs{{"write", Verb::write},
                                         {"read", Verb::read},
                                         {"send", Verb::send},
                                         {"fetch_add", Verb::fetch_add},
                                         {"compare_swap", Verb::compare_swap}};
const std::map<std::string, Service> kServices{
    {"rc", Service::rc}, {"uc", Service::uc}, {"ud", Service::ud}};

// Unreliable connections write and send; datagrams only send.
bool exists(Verb verb, Service service) {
  if (service == Service::rc) return true;
  return verb == Verb::send || (service == Service::uc && verb == Verb::write);
}

std::vector<uint64_t> sizes_of(const Params& params, Verb verb, bool latency) {
  if (is_atomic(verb)) return {kAtomicBytes};
  std::vector<uint64_t> out;
  if (params.has("size")) {
    for (const int64_t s : params.integers("size")) out.push_back(static_cast<uint64_t>(s));
    return out;
  }
  if (!params.has("min-size")) return {latency ? kLatencyBytes : kBandwidthBytes};
  const auto last = static_cast<uint64_t>(params.has("max-size") ? params.integer("max-size")
                                                                 : int64_t{kBandwidthBytes});
  for (auto s = static_cast<uint64_t>(params.integer("min-size")); s <= last;
       s *= static_cast<uint64_t>(params.integer("step-factor")))
    out.push_back(s);
  return out;
}

Spec base_spec(const Params& params) {
  const auto number = [&](const char* name) { return static_cast<int>(params.integer(name)); };
  Spec spec;
  spec.depth = number("tx-depth");
  spec.post_list = number("post-list");
  spec.moderation = number("cq-moderation");
  if (params.has("inline")) spec.inline_bytes = number("inline");
  if (params.has("mtu")) spec.mtu = number("mtu");
  spec.service_level = number("sl");
  spec.traffic_class = number("tc");
  if (params.has("outstanding-reads")) spec.outstanding_reads = number("outstanding-reads");
  spec.gpu_memory = params.text("memory") == "gpu";
  if (params.has("gpu")) spec.gpu = number("gpu");
  if (params.has("qp-timeout")) spec.ack_timeout = number("qp-timeout");
  spec.relaxed_ordering = params.flag("relaxed-ordering");
  spec.events = params.flag("events");
  if (params.has("gid-index")) spec.gid_index = number("gid-index");
  if (params.has("iterations"))
    spec.iterations = static_cast<uint64_t>(params.integer("iterations"));
  spec.seconds = params.has("duration") ? params.number("duration") : 2;
  spec.repetitions = number("repetitions");
  spec.verify = params.flag("verify");
  return spec;
}

Params params_of(const Params& params, const Spec& spec, const std::string& op,
                 const std::string& test, const std::string& service,
                 const std::string& direction) {
  Params out = params.with("size", static_cast<int64_t>(spec.bytes));
  out.set("op", op);
  out.set("test", test);
  out.set("service", service);
  out.set("direction", direction);
  out.set("qps", static_cast<int64_t>(spec.qps));
  for (const char* name : {"min-size", "max-size", "step-factor"}) out.erase(name);
  return out;
}

}  // namespace

std::vector<ParamDef> params() {
  using namespace param;
  return joined(
      {{
           choice("op", {"write", "read", "send", "fetch_add", "compare_swap"})
               .help("operations")
               .by_default("write")
               .list(),
           choice("test", {"bandwidth", "latency"})
               .help("bandwidth also gives the message rate")
               .by_default("bandwidth,latency")
               .list(),
           choice("service", {"rc", "uc", "ud"})
               .help("reliable or unreliable connection, unreliable datagram")
               .by_default("rc")
               .list(),
           net::direction_param(),
       },
       net::sweep_params({.bandwidth = "1M", .latency = "8", .max = 1 << 30, .step_factor = "2"}),
       {integer("qps").help("queue pairs per transfer").by_default("1").range(1, 16384).list(),
        integer("tx-depth")
            .help("send requests in flight per queue pair")
            .by_default("128")
            .range(1, 15000),
        integer("post-list").help("requests per post").by_default("1").range(1, 15000),
        integer("cq-moderation")
            .help("number of requests per completion")
            .by_default("100")
            .range(1, 15000),
        integer("inline")
            .help("bytes of payload within the request; latency up to 220 bytes unless given")
            .range(0, 65536),
        integer("mtu")
            .help("bytes: 256 512 1024 2048 4096; the active one unless given")
            .range(256, 4096),
        integer("sl").help("service level").by_default("0").range(0, 15),
        integer("tc")
            .help("traffic class (DSCP in its upper six bits)")
            .by_default("0")
            .range(0, 255),
        integer("outstanding-reads")
            .help("reads and atomics in flight; the devices' most unless given")
            .range(1, 255),
        choice("memory", {"host", "gpu"}).help("memory of the payload").by_default("host"),
        integer("gpu")
            .help(
                "CUDA's number of the GPU for --memory gpu; by default the GPU nearest to the NIC")
            .range(0, 1023),
        integer("qp-timeout")
            .help(
                "x of 4.096 µs × 2^x without an acknowledgement before a message is sent again; 14 "
                "(67 ms) unless given, 17 (0.5 s) for soft-RoCE")
            .range(1, 31),
        flag("relaxed-ordering").help("the device may write out of order"),
        flag("events").help("sleep for completions instead of polling"),
        integer("gid-index").help("the best one by score unless given").range(0, 65535),
        text("rails")
            .help("NICs in order; rail = same position on every host; host:NIC for one host only")
            .by_default("auto")
            .list(),
        flag("rails-together")
            .help("all rails at once, else one after the other")
            .by_default("true"),
        integer("iterations").help("messages per queue pair and repetition").range(1, 1000000000),
        duration("duration")
            .help("duration per pair and point; by default 2s, or what --iterations takes")
            .at_least(0.001),
        integer("repetitions")
            .help("repetitions of bandwidth; each is a sample")
            .by_default("5")
            .range(1, 1000),
        flag("verify").help("compare every byte of the last messages").by_default("true"),
        flag("lossless")
            .help("check that counters of drops and retransmissions stand still (RoCE; with "
                  "--schedule incast)"),
        fault_param_of_able("spoils a byte of what it receives, to prove that it is seen")},
       net::schedule_params()});
}

namespace {

void check_gpu_memory(const Params& params, Problems& problems) {
  if (params.text("memory") != "gpu") {
    if (params.has("gpu")) problems.add("--gpu", "is for --memory gpu");
    return;
  }
  if (params.has("inline") && params.integer("inline") > 0)
    problems.add("--inline", "the processor copies what goes inline, and cannot from a GPU");
  const auto has = [&](const char* list, const char* name) {
    const auto values = params.texts(list);
    return std::find(values.begin(), values.end(), name) != values.end();
  };
  if (has("op", "write") && has("test", "latency"))
    problems.add("--memory",
                 "a written latency is seen by watching memory, which the processor cannot do in a "
                 "GPU: --test bandwidth, or --op send or read");
  if (has("op", "fetch_add") || has("op", "compare_swap"))
    problems.add("--memory", "atomics are measured in host memory only");
}

}  // namespace

void check_params(const Params& params, Problems& problems) {
  net::check_schedule(params, problems);
  check_gpu_memory(params, problems);
  if (params.has("mtu")) {
    const int64_t mtu = params.integer("mtu");
    if ((mtu & (mtu - 1)) != 0) problems.add("--mtu", "one of 256 512 1024 2048 4096");
  }
  if (params.integer("post-list") > params.integer("tx-depth"))
    problems.add("--post-list", "more than --tx-depth");
  if (params.has("inject-fault") && !params.flag("verify"))
    problems.add("--inject-fault", "nobody looks without --verify");
  if (params.has("size") && params.has("min-size"))
    problems.add("--size", "either sizes or a sweep (--min-size)");
  bool any = false;
  for (const std::string& op : params.texts("op")) {
    for (const std::string& service : params.texts("service"))
      any |= exists(kVerbs.at(op), kServices.at(service));
  }
  if (!any)
    problems.add("--service", "uc has write and send, ud has send, the other operations need rc");
}

namespace {

void add_points(const Params& params, std::vector<Point>& out) {
  const auto add = [&](const std::string& op, const std::string& test, const std::string& service,
                       const std::string& direction, int64_t qps) {
    Spec spec = base_spec(params);
    spec.verb = kVerbs.at(op);
    spec.service = kServices.at(service);
    spec.latency = test == "latency";
    spec.two_way = direction == "two-way";
    spec.qps = static_cast<int>(qps);
    if (!exists(spec.verb, spec.service)) return;
    for (const uint64_t bytes : sizes_of(params, spec.verb, spec.latency)) {
      spec.bytes = bytes;
      out.push_back({spec, params_of(params, spec, op, test, service, direction)});
    }
  };
  for (const std::string& op : params.texts("op")) {
    for (const std::string& test : params.texts("test")) {
      for (const std::string& service : params.texts("service")) {
        if (test == "latency") {
          add(op, test, service, "one-way", 1);
          continue;
        }
        for (const std::string& direction : params.texts("direction")) {
          for (const int64_t qps : params.integers("qps")) add(op, test, service, direction, qps);
        }
      }
    }
  }
}

}  // namespace

std::vector<Point> plan(const Params& params) {
  std::vector<Point> out;
  for (const Params& one : net::by_schedule(params)) add_points(one, out);
  return out;
}

std::vector<net::Arrivals> arrivals(const std::vector<Point>& points) {
  std::vector<net::Arrivals> out;
  for (const Point& p : points)
    out.push_back({p.params, is_target(p.spec, true), is_target(p.spec, false)});
  return out;
}

}  // namespace cb::verbs
