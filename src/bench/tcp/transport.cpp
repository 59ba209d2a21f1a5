#include "bench/tcp/transport.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "bench/net/round.h"
#include "bench/pairs/transports.h"
#include "core/suggest.h"

namespace cb::tcp {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(by, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Networks of every rank, in the order of the first rank's interfaces; loopback last, and only
// where all ranks are on one host.
std::string common_network(Context& context, const std::vector<net::Interface>& mine) {
  std::string text;
  for (const net::Interface& i : mine) {
    if (!i.loopback) text += i.network() + " ";
  }
  for (const net::Interface& i : mine) {
    if (i.loopback && context.place.hosts.size() == 1) text += i.network() + " ";
  }
  const std::vector<std::string> all = context.comm.gather(text);
  std::string found;
  if (!all.empty()) {
    for (const std::string& network : split(all[0], ' ')) {
      const bool everywhere = std::all_of(all.begin(), all.end(), [&](const std::string& one) {
        return (" " + one).find(" " + network + " ") != std::string::npos;
      });
      if (everywhere && found.empty()) found = network;
    }
  }
  return context.comm.broadcast_text(found);
}

std::vector<net::Interface> by_name(const std::vector<std::string>& asked,
                                    const std::vector<net::Interface>& have,
                                    const std::string& host, Problems& problems) {
  std::vector<net::Interface> out;
  std::vector<std::string> names;
  for (const net::Interface& i : have) names.push_back(i.name);
  for (const std::string& name : asked) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      problems.add("--interface", fmt::format("{}: {}", host, unknown_name(name, names)));
    else
      out.push_back(have[static_cast<size_t>(found - names.begin())]);
  }
  return out;
}

}  // namespace

Setup set_up(Context& context, const std::vector<std::string>& asked) {
  Setup setup;
  setup.nodes = net::nodes_of(context.place);
  const std::vector<net::Interface> have = net::ipv4_interfaces();
  Problems problems;
  if (asked.size() == 1 && asked[0] == "auto") {
    const std::string network = common_network(context, have);
    if (network.empty()) {
      setup.skip = "the hosts share no IPv4 network: name the interfaces (--interface eth0)";
      return setup;
    }
    for (const net::Interface& i : have) {
      if (i.network() == network && setup.rails.empty()) setup.rails.push_back(i);
    }
  } else {
    setup.rails = by_name(asked, have, context.place.host, problems);
  }
  throw_agreed(context.comm, "clusterbench tcp", problems);
  for (int node = 0; node < setup.nodes.count(); ++node) {
    setup.rail_names.emplace_back();
    for (const net::Interface& i : setup.rails) setup.rail_names.back().push_back(i.name);
  }
  return setup;
}

}  // namespace cb::tcp

namespace cb {

OpenedTransport make_tcp_transport(Context& context) {
  auto setup = std::make_shared<const tcp::Setup>(tcp::set_up(context, {"auto"}));
  if (!setup->skip.empty()) return {nullptr, setup->skip};
  const std::string name = "tcp over " + setup->rails[0].name;
  const CancelToken& cancel = context.cancel;
  return {std::make_unique<net::EndTransport>(
      name, context.comm, [setup, &cancel](const net::PairJob& job) {
        tcp::Spec spec;
        spec.latency = job.task.measure == PairMeasure::latency;
        spec.two_way = job.task.two_way;
        if (spec.latency) spec.bytes = job.task.bytes;
        spec.seconds = job.task.seconds;
        spec.repetitions = 1;
        return std::make_unique<tcp::TcpEnd>(setup->rails[0], spec, job, cancel);
      })};
}

}  // namespace cb
