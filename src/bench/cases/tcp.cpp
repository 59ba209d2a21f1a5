// TCP between hosts: the other half of the comparison with RDMA, and the network that a cluster
// boots over. docs/methods/network.md says what is timed.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/network_ceiling.h"
#include "bench/cases.h"
#include "bench/net/measure.h"
#include "bench/tcp/transport.h"

namespace cb {
namespace {

CaseInfo describe() {
  CaseInfo info{
      .name = "tcp",
      .device = "",
      .summary = "TCP between hosts: bandwidth of many streams, latency, CPU cost, retransmissions",
      .example =
          "mpirun --map-by ppr:1:node clusterbench tcp --streams 8 --schedule tournament --json "
          "t.json",
      .domain = "network",
      .params = {{"test",
                  ParamType::choice,
                  "bandwidth,latency",
                  "what is measured",
                  {"bandwidth", "latency"},
                  true},
                 {"direction",
                  ParamType::choice,
                  "one-way",
                  "of bandwidth; two-way is the sum of both",
                  {"one-way", "two-way"},
                  true},
                 {"streams",
                  ParamType::integer,
                  "1",
                  "connections per direction, a thread each",
                  {},
                  true,
                  1,
                  1024},
                 {"size",
                  ParamType::size,
                  "",
                  "of a call, 128K unless given; of a latency message, 8 unless given",
                  {},
                  true,
                  1,
                  1 << 26},
                 {"interface",
                  ParamType::text,
                  "auto",
                  "interfaces in order; rail = same position on every host",
                  {},
                  true},
                 {"rails-together", ParamType::flag, "true",
                  "all interfaces at once, else one by one"},
                 {"zero-copy", ParamType::flag, "false", "send with MSG_ZEROCOPY"},
                 {"iterations", ParamType::integer, "", "of latency", {}, false, 1, 100000000},
                 {"duration", ParamType::duration, "2s", "per pair and point", {}, false, 0.01},
                 {"repetitions",
                  ParamType::integer,
                  "5",
                  "windows of the duration, each a sample",
                  {},
                  false,
                  1,
                  1000},
                 {"verify", ParamType::flag, "true", "compare one received piece in 64"},
                 {"inject-fault",
                  ParamType::integer,
                  "",
                  "this rank spoils a byte of what it receives, to prove that it is seen",
                  {},
                  false,
                  0}},
      .metrics =
          {{"bytes_per_second", "bytes_per_second", Better::higher,
            "that arrive at the receivers; two-way: both directions"},
           {"half_round_trip_seconds", "seconds", Better::lower, "half of a ping-pong"},
           {"latency_p999_seconds", "seconds", Better::lower, "99.9 % of the same"},
           {"sender_cpu_seconds_per_gigabit", "seconds", Better::lower,
            "of the sending threads: busy CPUs per Gb/s"},
           {"receiver_cpu_seconds_per_gigabit", "seconds", Better::lower,
            "of the receiving threads"},
           {"retransmissions", "count", Better::lower, "TCP_INFO, all streams"},
           {"smoothed_rtt_seconds", "seconds", Better::lower, "TCP_INFO, the slowest stream"},
           {"congestion_window_bytes", "bytes", Better::higher, "TCP_INFO, all streams"},
           {"received_bytes_per_second", "bytes_per_second", Better::higher,
            "what a host takes from several senders at once"},
           {"received_fairness", "share", Better::higher, "Jain's index of these senders' shares"},
           {"sent_bytes_per_second", "bytes_per_second", Better::higher,
            "what a host gives to several receivers at once"},
           {"sent_fairness", "share", Better::higher, "Jain's index of these receivers' shares"}},
      .checks = {"data", "transfer"},
  };
  for (ParamDef& def : net::schedule_params()) info.params.push_back(std::move(def));
  return info;
}

struct Point {
  tcp::Spec spec;
  Params params;
};

std::vector<Point> plan(const Params& params, int rank) {
  tcp::Spec base;
  base.seconds = params.number("duration");
  base.repetitions = static_cast<int>(params.integer("repetitions"));
  if (params.has("iterations"))
    base.iterations = static_cast<uint64_t>(params.integer("iterations"));
  base.zero_copy = params.flag("zero-copy");
  base.verify = params.flag("verify");
  base.corrupt = params.has("inject-fault") && params.integer("inject-fault") == rank;
  std::vector<Point> out;
  const auto add = [&](const std::string& test, const std::string& direction, int64_t streams) {
    tcp::Spec spec = base;
    spec.latency = test == "latency";
    spec.two_way = direction == "two-way";
    spec.streams = static_cast<int>(streams);
    const std::vector<int64_t> sizes = params.has("size")
                                           ? params.integers("size")
                                           : std::vector<int64_t>{spec.latency ? 8 : 128 << 10};
    for (const int64_t size : sizes) {
      spec.bytes = static_cast<uint64_t>(size);
      Params mine = params.with("size", size);
      mine.set("test", test);
      mine.set("direction", direction);
      mine.set("streams", streams);
      out.push_back({spec, std::move(mine)});
    }
  };
  for (const std::string& test : params.texts("test")) {
    if (test == "latency") {
      add(test, "one-way", 1);
      continue;
    }
    for (const std::string& direction : params.texts("direction")) {
      for (const int64_t streams : params.integers("streams")) add(test, direction, streams);
    }
  }
  return out;
}

bool is_virtual(const Part* nic) {
  const auto found = nic->attributes.find("virtual");
  return found == nic->attributes.end() || found->second == Attribute(true);
}

// The data rate of a physical interface; a virtual one (veth, bridge) states a rate that means
// nothing.
std::optional<Ceiling> link_ceiling(const Context& context, const net::Interface& interface,
                                    bool two_way) {
  const Part* nic = context.inventory.find("nic", interface.name);
  const auto rate = number_of(nic, "rate_bits_per_second");
  if (!rate || is_virtual(nic)) return std::nullopt;
  const double share = payload_share(Wire::tcp_ipv4, 1, interface.mtu);
  return Ceiling{*rate / 8 * share * (two_way ? 2 : 1),
                 fmt::format("{:.0f} Gb/s × {:.1f} % payload at MTU {}{}", *rate / 1e9, share * 100,
                             interface.mtu, two_way ? ", both directions" : "")};
}

std::vector<Record> run(Context& context, const Params& params) {
  const tcp::Setup setup = tcp::set_up(context, params.texts("interface"));
  if (!setup.skip.empty())
    return {{.case_name = "tcp", .params = params, .outcome = Skipped{setup.skip}}};
  std::vector<Record> records;
  try {
    for (const Point& point : plan(params, context.comm.rank())) {
      const tcp::Spec& spec = point.spec;
      net::Measurement m{.case_name = "tcp", .params = point.params, .task = {}};
      m.task.two_way = spec.two_way;
      m.task.measure = spec.latency ? PairMeasure::latency : PairMeasure::bandwidth;
      m.rounds =
          net::plan_rounds(params, setup.nodes, setup.rail_count(), !params.flag("rails-together"));
      m.deadline_seconds =
          params.has("round-deadline") ? params.number("round-deadline") : 20 + 3 * spec.seconds;
      m.rail_names = setup.rail_names;
      m.make = [&](const net::PairJob& job) {
        return std::make_unique<tcp::TcpEnd>(setup.rails[static_cast<size_t>(job.task.rail)], spec,
                                             job, context.cancel);
      };
      m.ceiling = [&](const net::RailPair& pair) {
        return link_ceiling(context, setup.rails[static_cast<size_t>(pair.from_rail)],
                            spec.two_way);
      };
      context.progress.update(
          static_cast<double>(records.size()) / 10,
          fmt::format("{} {} streams", point.params.text("test"), spec.streams));
      records.push_back(net::measure_rounds(context, setup.nodes, m));
    }
  } catch (const Interrupted&) {
    throw Interrupted(std::move(records));
  }
  return records;
}

}  // namespace

Case tcp_case() { return {describe(), run}; }

}  // namespace cb
