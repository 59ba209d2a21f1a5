#include "bench/network/pairs/transports.h"

#include <array>

#include "core/suggest.h"

namespace cb {
namespace {

struct Maker {
  const char* name;
  OpenedTransport (*make)(Context&, const TransportOptions&);
};

template <OpenedTransport (*make)(Context&)>
OpenedTransport without_options(Context& context, const TransportOptions&) {
  return make(context);
}

constexpr std::array kMakers{Maker{"mpi", without_options<make_mpi_transport>},
                             Maker{"nccl", make_nccl_transport},
                             Maker{"tcp", without_options<make_tcp_transport>},
                             Maker{"verbs", without_options<make_verbs_transport>}};

}  // namespace

const std::vector<std::string>& transport_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Maker& m : kMakers) out.emplace_back(m.name);
    return out;
  }();
  return names;
}

OpenedTransport make_transport(std::string_view name, Context& context,
                               const TransportOptions& options) {
  for (const Maker& m : kMakers) {
    if (m.name == name) return m.make(context, options);
  }
  throw UsageError("pairs", "--backend", unknown_name(name, transport_names()));
}

}  // namespace cb
