#include "bench/network/optics/in_band.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "bench/network/subnet/input.h"
#include "bench/network/subnet/umad_wire.h"
#include "core/error.h"
#include "core/param_builder.h"

namespace cb::net {
namespace {

constexpr double kTrySeconds = 0.2, kAllSeconds = 600;
constexpr std::array kInBandOnly{"port", "mkey", "vs-key", "mad-timeout", "limit"};

double number_or(const Params& params, const char* name, double otherwise) {
  return params.has(name) ? params.number(name) : otherwise;
}
uint64_t key_of(const Params& params, const char* name) {
  return params.has(name) ? parse_management_key(params.text(name)).value_or(0) : 0;
}

}  // namespace

std::vector<ParamDef> in_band_params() {
  using namespace param;
  return {flag("subnet").help(
              "modules of all switches of the InfiniBand subnet, asked through this host's port"),
          text("port").help("of --subnet, that asks: mlx5_0 or mlx5_0/1; the first active one"),
          text("mkey").help("of --subnet: management key of the subnet, as 0x…"),
          text("vs-key").help("of --subnet: key of the vendor's class, as 0x…"),
          duration("mad-timeout").range(0.001, 10).help("of --subnet: of one try of eight, 200ms"),
          duration("limit").range(1, 86400).help("of --subnet: of all questions, 10m")};
}

void check_in_band_params(const Params& params, Problems& problems) {
  const bool subnet = params.flag("subnet");
  for (const char* name : kInBandOnly) {
    if (!subnet && params.has(name))
      problems.add(std::string("--") + name, said("optics.needs_subnet"));
  }
  for (const char* name : {"window", "ports", "from"}) {
    const bool given = params.has(name) &&
                       !(name == std::string_view("ports") &&
                         params.texts("ports") == std::vector<std::string>{"auto"}) &&
                       !(name == std::string_view("window") && params.number("window") <= 0);
    if (subnet && given) problems.add(std::string("--") + name, said("optics.not_subnet"));
  }
  for (const char* name : {"mkey", "vs-key"}) {
    if (params.has(name) && !parse_management_key(params.text(name)))
      problems.add(std::string("--") + name, said("fabric.bad_key"));
  }
}

InBandModules read_modules_in_band(Context& context, const Params& params) {
  const double limit = number_or(params, "limit", kAllSeconds);
  InBandModules out;
  // The others wait for rank 0.
  const Watchdog::IdleLimit waiting(context.watchdog, limit + 60);
  if (context.comm.is_root()) {
    out.port = params.has("port") ? params.text("port") : "";
    std::unique_ptr<MadWire> wire;
    try {
      wire = open_umad_wire(context.fs, out.port);
    } catch (const Error& e) {
      out.unavailable = said("optics.no_adapter", e.said());
    }
    const MadLimits limits{
        .timeout_ms =
            std::max(1, static_cast<int>(1000 * number_or(params, "mad-timeout", kTrySeconds))),
        .total_seconds = limit};
    if (wire) {
      MadExchange exchange(*wire, limits, [&] {
        context.watchdog.progress();
        if (context.cancel.cancelled()) throw Interrupted();
      });
      out.read = read_subnet_modules(
          exchange, {key_of(params, "mkey"), key_of(params, "vs-key")},
          [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); });
      out.mads = exchange.tally();
    }
  }
  context.comm.barrier();
  return out;
}

}  // namespace cb::net
