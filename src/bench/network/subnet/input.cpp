#include "bench/network/subnet/input.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "bench/network/subnet/scan.h"
#include "bench/network/subnet/umad_wire.h"
#include "core/file.h"
#include "core/param_builder.h"
#include "model/fabric/readers.h"

namespace cb::net {
namespace {

// What is wrong with a file, with the file's name before the place within it.
template <typename Read>
void read_one_file(const std::string& file, Problems& problems, Read read) {
  try {
    read(read_file(file));
  } catch (const UsageError& e) {
    for (const Problem& p : e.problems().list)
      problems.add(p.where.empty() ? file : fmt::format("{}, {}", file, p.where), p.said());
  }
}

// Sleeps in steps, so that a signal ends it and the watchdog sees that it is on its way.
void wait_for_window(Context& context, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (double now = 0; now < seconds; now = passed()) {
    if (context.cancel.cancelled()) throw Interrupted();
    context.watchdog.progress();
    context.progress.update(now / seconds, "counters");
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.2, seconds - now)));
  }
}

void scan_live(Context& context, const Params& params, FabricInput& out) {
  const std::string named = params.has("port") ? params.text("port") : "";
  std::unique_ptr<MadWire> wire;
  try {
    wire = open_umad_wire(context.fs, named);
  } catch (const Error& e) {
    out.unavailable = said("fabric.no_dump", e.said());
    return;
  }
  const MadLimits limits{
      .timeout_ms = std::max(1, static_cast<int>(1000 * params.number("mad-timeout"))),
      .total_seconds = params.number("limit")};
  MadExchange exchange(*wire, limits, [&] {
    context.watchdog.progress();
    if (context.cancel.cancelled()) throw Interrupted();
  });
  ScanWish wish{.tables = !params.flag("no-tables"), .counters = !params.flag("no-counters")};
  if (params.has("window")) wish.window_seconds = params.number("window");
  if (params.has("mkey")) wish.key = parse_management_key(params.text("mkey")).value_or(0);
  ScanResult scan =
      scan_subnet(exchange, wish, [&](double seconds) { wait_for_window(context, seconds); });
  out.net = std::move(scan.net);
  out.notes = std::move(scan.notes);
  out.discovery_seconds = scan.discovery_seconds;
  out.mads = exchange.tally();
  out.source = named.empty() ? "umad" : named;
}

void read_files(const Params& params, Problems& problems, FabricInput& out) {
  std::vector<Net> nets;
  for (const std::string& file : params.texts("from")) {
    read_one_file(file, problems,
                  [&](const std::string& text) { nets.push_back(read_subnet(text, file)); });
    out.source += (out.source.empty() ? "" : ", ") + file;
  }
  if (problems.empty()) out.net = join_nets(nets);
}

}  // namespace

std::vector<ParamDef> fabric_source_params() {
  using namespace param;
  return {
      text("from").list().help(
          "files of one subnet: ibnetdiscover (text or --cache), iblinkinfo, ibqueryerrors, "
          "ibdiagnet2.db_csv, dump_fts, UFM's ports, links and systems; without it the subnet is "
          "asked through this host's port"),
      text("port").excludes({"from"}).help("that asks: mlx5_0 or mlx5_0/1; the first active one"),
      duration("window").excludes({"from"}).range(1, 86400).help(
          "errors are counted within it, else since somebody cleared the counters"),
      text("mkey").excludes({"from"}).help("management key of the subnet, as 0x…"),
      duration("mad-timeout").by_default("200ms").range(0.001, 10).help("of one try of eight"),
      duration("limit").by_default("10m").range(1, 86400).help(
          "of all questions; what has no answer by then is named"),
      flag("no-tables").help("leaves forwarding tables out"),
      flag("no-counters").help("leaves error counters out")};
}

std::optional<uint64_t> parse_management_key(const std::string& text) {
  uint64_t out = 0;
  const char* begin = text.data() + (text.starts_with("0x") ? 2 : 0);
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(begin, end, out, 16);
  if (code != std::errc{} || rest != end) return std::nullopt;
  return out;
}

FabricInput read_fabric(Context& context, const Params& params) {
  FabricInput out;
  Problems problems;
  // The others wait for rank 0.
  const double window = params.has("window") ? params.number("window") : 0;
  const Watchdog::IdleLimit waiting(context.watchdog, window + params.number("limit") + 60);
  if (context.comm.is_root()) {
    if (params.has("plan")) {
      const std::string plan = params.text("plan");
      read_one_file(plan, problems,
                    [&](const std::string& text) { out.plan = read_cabling(text, plan); });
    }
    if (params.has("before")) {
      const std::string before = params.text("before");
      read_one_file(before, problems, [&](const std::string& text) {
        out.before = read_subnet(text, before);
        out.plan = plan_of(*out.before);
      });
    }
    if (params.has("from"))
      read_files(params, problems, out);
    else if (problems.empty())
      scan_live(context, params, out);
  }
  throw_agreed(context.comm, "clusterbench fabric", problems);
  return out;
}

}  // namespace cb::net
