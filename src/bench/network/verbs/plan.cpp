#include "bench/network/verbs/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/harness/fault.h"
#include "bench/network/schedule.h"

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

Spec base_spec(const Params& params, int rank) {
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
  spec.corrupt = params.has("inject-fault") && params.integer("inject-fault") == rank;
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
  std::vector<ParamDef> out{
      {"op",
       ParamType::choice,
       "write",
       "operations",
       {"write", "read", "send", "fetch_add", "compare_swap"},
       true},
      {"test",
       ParamType::choice,
       "bandwidth,latency",
       "bandwidth also gives the message rate",
       {"bandwidth", "latency"},
       true},
      {"service",
       ParamType::choice,
       "rc",
       "reliable or unreliable connection, unreliable datagram",
       {"rc", "uc", "ud"},
       true},
      {"direction",
       ParamType::choice,
       "one-way",
       "of bandwidth; two-way is the sum of both",
       {"one-way", "two-way"},
       true},
      {"size",
       ParamType::size,
       "",
       "message sizes; 1M for bandwidth, 8 for latency unless given",
       {},
       true,
       1,
       1 << 30},
      {"min-size", ParamType::size, "", "first size of a sweep", {}, false, 1, 1 << 30},
      {"max-size",
       ParamType::size,
       "",
       "last size of a sweep, 1M unless given",
       {},
       false,
       1,
       1 << 30},
      {"step-factor",
       ParamType::integer,
       "2",
       "each size is this times the one before",
       {},
       false,
       2,
       1024},
      {"qps", ParamType::integer, "1", "queue pairs per transfer", {}, true, 1, 16384},
      {"tx-depth",
       ParamType::integer,
       "128",
       "send requests in flight per queue pair",
       {},
       false,
       1,
       15000},
      {"post-list", ParamType::integer, "1", "requests per post", {}, false, 1, 15000},
      {"cq-moderation",
       ParamType::integer,
       "100",
       "one completion for so many requests",
       {},
       false,
       1,
       15000},
      {"inline",
       ParamType::integer,
       "",
       "bytes of payload within the request; latency up to 220 bytes unless given",
       {},
       false,
       0,
       65536},
      {"mtu",
       ParamType::integer,
       "",
       "bytes: 256 512 1024 2048 4096; the active one unless given",
       {},
       false,
       256,
       4096},
      {"sl", ParamType::integer, "0", "service level", {}, false, 0, 15},
      {"tc",
       ParamType::integer,
       "0",
       "traffic class (DSCP in its upper six bits)",
       {},
       false,
       0,
       255},
      {"outstanding-reads",
       ParamType::integer,
       "",
       "reads and atomics in flight; the devices' most unless given",
       {},
       false,
       1,
       255},
      {"memory", ParamType::choice, "host", "where the payload lies", {"host", "gpu"}},
      {"gpu",
       ParamType::integer,
       "",
       "of --memory gpu: CUDA's number of it; the one nearest the NIC unless given",
       {},
       false,
       0,
       1023},
      {"qp-timeout",
       ParamType::integer,
       "",
       "x of 4.096 µs × 2^x without an acknowledgement before a message is sent again; 14 (67 ms) "
       "unless given, 17 (0.5 s) for soft-RoCE",
       {},
       false,
       1,
       31},
      {"relaxed-ordering", ParamType::flag, "false", "the device may write out of order"},
      {"events", ParamType::flag, "false", "sleep for completions instead of polling"},
      {"gid-index",
       ParamType::integer,
       "",
       "the best one by score unless given",
       {},
       false,
       0,
       65535},
      {"rails",
       ParamType::text,
       "auto",
       "NICs in order; rail = same position on every host; host:NIC for one host only",
       {},
       true},
      {"rails-together", ParamType::flag, "true", "all rails at once, else one after the other"},
      {"iterations",
       ParamType::integer,
       "",
       "messages per queue pair and repetition",
       {},
       false,
       1,
       1000000000},
      {"duration",
       ParamType::duration,
       "",
       "per pair and point, 2s unless --iterations is given",
       {},
       false,
       0.001},
      {"repetitions", ParamType::integer, "5", "of bandwidth, each a sample", {}, false, 1, 1000},
      {"verify", ParamType::flag, "true", "compare every byte of the last messages"},
      {"lossless", ParamType::flag, "false",
       "check that counters of drops and retransmissions stand still (RoCE; with --schedule "
       "incast)"},
      fault_param("spoils a byte of what it receives, to prove that it is seen")};
  for (ParamDef& def : net::schedule_params()) out.push_back(std::move(def));
  return out;
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

void add_points(const Params& params, int rank, std::vector<Point>& out) {
  const auto add = [&](const std::string& op, const std::string& test, const std::string& service,
                       const std::string& direction, int64_t qps) {
    Spec spec = base_spec(params, rank);
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

std::vector<Point> plan(const Params& params, int rank) {
  std::vector<Point> out;
  for (const Params& one : net::by_schedule(params)) add_points(one, rank, out);
  return out;
}

}  // namespace cb::verbs
