#include "bench/collectives/kv/wires.h"

#include <algorithm>

#include "bench/collectives/link_rates.h"

namespace cb::kv {
namespace {

// A transfer that is this slow, and a margin, is given up.
constexpr double kLeastBytesPerSecond = 20e6, kMarginSeconds = 20;

verbs::Spec spec_of_writes(const Params& params) {
  verbs::Spec spec;
  spec.depth = static_cast<int>(params.integer("window"));
  spec.service_level = static_cast<int>(params.integer("sl"));
  spec.traffic_class = static_cast<int>(params.integer("tc"));
  if (params.has("gid-index")) spec.gid_index = static_cast<int>(params.integer("gid-index"));
  return spec;
}

// Messages are cut at what all ports take: only a page can be too large.
verbs::OptionNames names_of_writes() {
  return {.subject = "clusterbench kv-transfer",
          .depth = "--window",
          .entries = "--window",
          .bytes = "--page-tokens with pages of"};
}

int host_of(const Context& context, int rank) {
  return context.place.host_of_rank[static_cast<size_t>(rank)];
}

}  // namespace

Wires::Wires(Context& context, const Params& params, const std::vector<KvPoint>& points,
             const GroupComm& all)
    : common_(spec_of_writes(params)) {
  const std::string backend = params.text("backend");
  if (backend != "verbs") {
    std::vector<double> rates(context.place.host_of_rank.size(), 0);
    rates[static_cast<size_t>(context.comm.rank())] = host_network_rate(context.inventory);
    host_rates_ = all.max(rates);
    if (backend == "nccl") open_gpus(context, params.number("hang-after"));
    return;
  }
  margin_seconds_ = kMarginSeconds;
  verbs_ = verbs::set_up(context, params.texts("rails"), names_of_writes());
  skip_ = verbs_->skip;
  if (!skip_.empty()) return;
  most_ = static_cast<uint64_t>(context.comm.min(static_cast<double>(most_of_ports())));
  std::vector<verbs::Point> wanted;
  for (const KvPoint& point : points) wanted.push_back({spec(point), params});
  verbs::require_supported(context, *verbs_, wanted, names_of_writes());
}

void Wires::open_gpus(Context& context, double hang_after) {
  margin_seconds_ = hang_after;
  auto opened = open_nccl_wires(context, hang_after);
  if (auto* why = std::get_if<Said>(&opened))
    skip_ = *why;
  else
    nccl_ = std::get<std::unique_ptr<NcclWires>>(std::move(opened));
}

verbs::Spec Wires::spec(const KvPoint& point) const {
  verbs::Spec out = common_;
  // A page is never cut; joined pages may be as long as a layer.
  const auto page = static_cast<uint64_t>(point.shape.page_bytes());
  const uint64_t whole = std::min(static_cast<uint64_t>(point.shape.layer_bytes()), most_);
  out.bytes = point.pack ? whole : point.join ? std::max(page, whole) : page;
  return out;
}

uint64_t Wires::most_of_ports() const {
  uint64_t out = kMostOfAMessage;
  for (const RdmaPort& port : verbs_->rails) {
    try {
      const uint64_t most = verbs_->pool->get(port)->port.max_msg_sz;
      if (most > 0) out = std::min(out, most);
    } catch (const std::exception&) {
      // The pairs of this port will report it.
    }
  }
  return out;
}

double Wires::transfer_deadline(const KvPoint& point) const {
  if (margin_seconds_ == 0) return 0;
  return margin_seconds_ + static_cast<double>(point.shape.bytes()) / kLeastBytesPerSecond;
}

// The ranks of a host take its NICs in turn.
int Wires::rail_of(const Context& context, int rank) const {
  const auto begin = context.place.host_of_rank.begin();
  const auto place = std::count(begin, begin + rank, host_of(context, rank));
  return static_cast<int>(place) % verbs_->rail_count();
}

std::unique_ptr<PageWire> Wires::connect(Context& context, const KvPoint& point, MPI_Comm comm,
                                         const Seat& seat) const {
  Watchdog& watchdog = context.watchdog;
  const PairEnd end{.comm = comm,
                    .peer = seat.peer(),
                    .sends = seat.sends,
                    .window = point.window,
                    .deadline_seconds = point.transfer_deadline,
                    .moved = [&watchdog] { watchdog.alive(); }};
  context.watchdog.note("connecting the pairs");
  const Watchdog::Bounded connecting(context.watchdog, patience_of_end(point));
  std::unique_ptr<PageWire> wire;
  Said failed;
  try {
    wire = seat.idle ? make_mpi_wire(end, memory_of_end(point), PagePool::kGuardBytes)
                     : make(context, point, end);
  } catch (const std::exception& e) {
    failed = said("said.of", seat.name, said_by(e));
  }
  if (context.comm.any(wire == nullptr)) wire.reset();
  if (!failed.empty()) throw Error(failed);
  return wire;
}

std::unique_ptr<PageWire> Wires::make(Context& context, const KvPoint& point,
                                      const PairEnd& end) const {
  const uint64_t bytes = memory_of_end(point);
  if (nccl_) return nccl_->make(end, bytes, PagePool::kGuardBytes);
  if (!verbs_) return make_mpi_wire(end, bytes, PagePool::kGuardBytes);
  const auto rail = static_cast<size_t>(rail_of(context, context.comm.rank()));
  return make_verbs_wire(end, bytes, PagePool::kGuardBytes, *verbs_->pool, verbs_->rails[rail],
                         spec(point), context.cancel);
}

std::optional<Ceiling> Wires::ceiling(const Context& context, const KvPoint& point,
                                      const Seat& seat) const {
  const auto [from, to] = seat.ranks;
  if (verbs_) {
    const auto& node = verbs_->nodes.node_of_rank;
    return verbs_->ceiling({node[static_cast<size_t>(from)], node[static_cast<size_t>(to)],
                            rail_of(context, from), rail_of(context, to)},
                           spec(point));
  }
  if (host_of(context, from) == host_of(context, to)) return std::nullopt;
  const double rate =
      std::min(host_rates_[static_cast<size_t>(from)], host_rates_[static_cast<size_t>(to)]);
  if (rate <= 0) return std::nullopt;
  return Ceiling{rate, said("kv.ports_of_pair", Quantity{rate, "bytes_per_second"})};
}

}  // namespace cb::kv
