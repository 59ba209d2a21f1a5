#include "bench/gpu/copy_points.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr int64_t kTransfer = int64_t{256} << 20;
// Much larger than every L2 (126 MB on Blackwell).
constexpr int64_t kLocal = int64_t{2} << 30;

// Names of the parameters that make a difference to this kind of operation.
std::vector<std::string> axes_of(CopyKind kind) {
  if (kind == CopyKind::host) return {"memory", "numa"};
  if (kind == CopyKind::peer) return {"engine"};
  return {};
}

// Every combination of the values that the axes were given.
std::vector<Params> combinations(const Params& base, const std::vector<std::string>& axes) {
  std::vector<Params> out{base};
  for (const std::string& axis : axes) {
    std::vector<Params> next;
    for (const Params& p : out) {
      for (const std::string& value : base.texts(axis)) next.push_back(p.with(axis, value));
    }
    out = std::move(next);
  }
  return out;
}

}  // namespace

const std::vector<CopyOp>& copy_ops() {
  static const std::vector<CopyOp> ops{
      {"host_to_device", CopyKind::host},  {"device_to_host", CopyKind::host},
      {"two_way", CopyKind::host, 2},      {"copy", CopyKind::local, 2},
      {"triad", CopyKind::local, 3},       {"read", CopyKind::local, 1},
      {"latency", CopyKind::latency},      {"peer_write", CopyKind::peer},
      {"peer_read", CopyKind::peer},       {"peer_two_way", CopyKind::peer, 2},
      {"peer_latency", CopyKind::latency},
  };
  return ops;
}

std::vector<std::string> copy_op_names() {
  std::vector<std::string> out;
  for (const CopyOp& op : copy_ops()) out.push_back(op.name);
  return out;
}

const CopyOp& copy_op(const std::string& name) {
  const auto found = std::ranges::find(copy_ops(), name, &CopyOp::name);
  if (found == copy_ops().end()) throw Error(fmt::format("no GPU copy is called {}", name));
  return *found;
}

std::vector<CopyPoint> copy_points(const Params& params) {
  std::vector<CopyPoint> out;
  for (const std::string& name : params.texts("op")) {
    const CopyOp& op = copy_op(name);
    const std::vector<std::string> axes = axes_of(op.kind);
    for (Params mine : combinations(params.with("op", name), axes)) {
      for (const char* axis : {"memory", "numa", "engine"}) {
        if (std::ranges::find(axes, axis) == axes.end()) mine.erase(axis);
      }
      if (op.kind != CopyKind::host) mine.erase("one-at-a-time");
      const int64_t whole = op.kind == CopyKind::local ? kLocal : kTransfer;
      const int64_t bytes = params.has("size") ? params.integer("size") : whole;
      out.push_back({op, mine.with("size", bytes), bytes});
    }
  }
  return out;
}

}  // namespace cb
