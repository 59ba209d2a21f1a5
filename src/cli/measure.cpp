#include "cli/measure.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/harness/runner.h"
#include "cli/console_progress.h"
#include "cli/document.h"
#include "cli/documents_on_standard_output.h"
#include "cli/info_table.h"
#include "cli/last_words.h"
#include "cli/measure_table.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"
#include "sys/inventory/inventory.h"
#include "sys/mpi/mpi.h"

namespace cb {
namespace {

// Signal handlers can reach only this.
CancelToken* g_cancel = nullptr;

void on_signal(int) {
  if (g_cancel != nullptr) g_cancel->cancel();
}

class SignalGuard {
 public:
  explicit SignalGuard(CancelToken& token) {
    g_cancel = &token;
    struct sigaction action {};
    action.sa_handler = on_signal;
    // The first asks, a second one of the same kind ends: nobody has to wait for a stuck iteration.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~SignalGuard() { g_cancel = nullptr; }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

// Starting MPI, gathering the inventories, writing the results and ending MPI count no steps, and
// take long on many hosts or busy ones: --stall holds there only where it is longer than this.
constexpr double kAroundSeconds = 120;

struct Limits {
  double deadline = 0;
  double stall = 0;
};

Limits parse_limits(const MeasureOptions& options, const std::string& name) {
  Problems problems;
  const auto parse = [&](const char* where, const std::string& text) {
    const auto seconds = parse_duration(text);
    if (!seconds || *seconds <= 0)
      problems.add(where, fmt::format("'{}' is not a duration such as 90s or 10m", text));
    return seconds.value_or(0);
  };
  const Limits limits{parse("--deadline", options.deadline), parse("--stall", options.stall)};
  if (!problems.empty()) throw UsageError("clusterbench " + name, problems);
  return limits;
}

// A file that cannot be written is found before an hour of measuring, not after it. Collective:
// only rank 0's host writes, and all ranks stop if it cannot.
void require_writable(Comm& comm, const std::string& name, const std::string& path) {
  Problems problems;
  if (comm.is_root() && !path.empty() && path != kStandardOutput) {
    const auto directory = std::filesystem::absolute(path).parent_path();
    if (::access(directory.c_str(), W_OK | X_OK) != 0)
      problems.add("--json", path + " cannot be written: no such directory, or not permitted");
    else if (std::filesystem::is_directory(path))
      problems.add("--json", path + " is a directory");
  }
  throw_agreed(comm, "clusterbench " + name, problems);
}

// The variable reaches the jobs of a campaign where an option would change what they are.
bool redacts(const MeasureOptions& options) {
  const char* asked = std::getenv("CLUSTERBENCH_REDACT");
  return options.redact || (asked != nullptr && std::string_view(asked) == "1");
}

std::string describe(const Case& c, const Params& params) {
  std::string out = c.info.name;
  for (const char* key : {"op", "dtype", "rw", "device"}) {
    if (params.has(key)) out += fmt::format(" {}", fmt::join(params.texts(key), ","));
  }
  return out;
}

std::vector<HostInventory> gather_inventories(Comm& comm, const Place& place,
                                              const HostInventory& mine) {
  std::vector<HostInventory> out;
  for (const std::string& blob : comm.gather(place.first_on_host() ? pack_inventory(mine) : "")) {
    if (!blob.empty()) out.push_back(unpack_inventory(blob));
  }
  return out;
}

// What there is after an interruption, and where.
std::string interruption(const Document& document, const Case& c, const std::string& json) {
  const size_t count = document.records.size();
  const std::string finished =
      count == 0 ? "nothing was finished"
                 : fmt::format("{} record{} finished", count, count == 1 ? " was" : "s were");
  const std::string where = json.empty()
                                ? "no document was asked for (--json)"
                                : fmt::format("the partial document is in {}", terminal_safe(json));
  return fmt::format("clusterbench {}: interrupted: {}; {}\n", c.info.name, finished, where);
}

ExitCode finish(Document document, const Case& c, const MeasureOptions& options) {
  document.run.ended = utc_now();
  // The table first: it is all that is left of the run if the file cannot be written.
  if (!options.quiet) {
    std::cout << (c.info.prints_inventory ? info_table(document.hosts)
                                          : measure_table(document, c.info))
              << std::flush;
  }
  if (options.quiet) std::cerr << failed_check_lines(document, c.info);
  if (c.info.prints_suspects) std::cout << suspect_lines(document) << std::flush;
  if (!options.json.empty()) write_file_atomically(options.json, to_json_text(document));
  for (const Record& r : document.records) {
    if (const auto* e = std::get_if<Errored>(&r.outcome))
      std::cerr << fmt::format("clusterbench {}: {}: {}\n", r.case_name, terminal_safe(e->where),
                               terminal_safe(e->what.text()));
    if (const auto* s = std::get_if<Skipped>(&r.outcome))
      std::cerr << fmt::format("clusterbench {}: skipped: {}\n", r.case_name,
                               terminal_safe(s->reason.text()));
  }
  if (document.run.partial) std::cerr << interruption(document, c, options.json);
  return document.run.partial ? ExitCode::interrupted : outcome_code(document.records);
}

// Rank 0 alone writes, and the others wait to hear how it went: so it must not throw.
ExitCode finish_or_say_why(Document document, const Case& c, const MeasureOptions& options) {
  const bool interrupted = document.run.partial.has_value();
  try {
    return finish(std::move(document), c, options);
  } catch (const std::exception& e) {
    std::cerr << fmt::format("clusterbench {}: {}\n", c.info.name, terminal_safe(e.what()));
    return interrupted ? ExitCode::interrupted : ExitCode::runtime;
  }
}

// From the first collective call to the last. Every wait in here is under the watchdog.
ExitCode measure_together(const Case& c, const Params& params, const MeasureOptions& options,
                          double stall, Comm& comm, Watchdog& watchdog, LastWords& last_words,
                          const CancelToken& cancel) {
  const FsRoot fs(options.sysroot);
  const Place place = locate_ranks(comm, host_name());
  require_writable(comm, c.info.name, options.json);
  const HostInventory inventory = collect_inventory(fs, place.host);
  Sampler sampler(comm, watchdog, cancel);
  ConsoleProgress progress(comm.is_root() && !options.quiet, options.no_color);

  Document document = begin_document(place, comm.size(), redacts(options));
  watchdog.note("gathering the hosts' inventories");
  document.hosts = gather_inventories(comm, place, inventory);
  const auto side = last_words.open_channel(comm, place, watchdog, cancel, document);
  Context context{comm, place, sampler, watchdog, cancel, progress, fs, inventory};
  context.publisher = [&](const Record& record) { side->publish(record); };
  context.logger = [&](const std::string& text) {
    progress.done();  // else the line would stand behind the bar
    std::cerr << fmt::format("clusterbench {}: {}\n", c.info.name, terminal_safe(text));
  };
  try {
    const Watchdog::IdleLimit measuring(watchdog, stall);
    document.records = run_case(c, context, params);
  } catch (const Interrupted& e) {
    document.records = e.finished();
    document.run.partial = said("run.interrupted");
  }
  progress.done();
  watchdog.note("waiting for rank 0 to write the results");
  side->close();
  ExitCode code = ExitCode::ok;
  if (comm.is_root()) code = finish_or_say_why(std::move(document), c, options);
  return static_cast<ExitCode>(static_cast<int>(comm.max(static_cast<double>(code))));
}

}  // namespace

ExitCode outcome_code(const std::vector<Record>& records) {
  bool errored = false, wrong = false, skipped = records.empty();
  for (const Record& r : records) {
    errored |= std::holds_alternative<Errored>(r.outcome);
    skipped |= std::holds_alternative<Skipped>(r.outcome);
    for (const Check& check : r.checks) wrong |= !check.passed;
  }
  if (wrong) return ExitCode::not_accepted;
  if (errored) return ExitCode::runtime;
  return skipped ? ExitCode::incomplete : ExitCode::ok;
}

ExitCode measure(const Case& c, const Params& params, const MeasureOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench " + c.info.name, {options.json});
  const Limits limits = parse_limits(options, c.info.name);
  CancelToken cancel;
  const SignalGuard signals(cancel);
  const std::string who = mpi::process_name();
  LastWords last_words(c.info.name, who, options.json);
  Watchdog watchdog([&](const WatchState& state) { last_words.on_expiry(state); });
  watchdog.arm(describe(c, params), limits.deadline, std::max(limits.stall, kAroundSeconds));
  std::optional<mpi::Session> session;
  if (mpi::launched()) {
    watchdog.note("opening the MPI library");
    watchdog.note("starting MPI with " + mpi::library_and_path());
    session.emplace();
  }
  const std::unique_ptr<Comm> comm = session ? world_comm() : single_comm();
  mpi::require_company(comm->size());
  try {
    return measure_together(c, params, options, limits.stall, *comm, watchdog, last_words, cancel);
  } catch (const UsageError& e) {
    // Agreed on by all ranks. Said before MPI_Finalize: once another rank has ended with this code,
    // the launcher kills the rest.
    if (comm->is_root()) std::cerr << e.what() << std::endl;
    return e.code();
  } catch (const std::exception& e) {
    if (comm->size() == 1) throw;
    // The other ranks wait in a collective that this one will never enter.
    const auto* error = dynamic_cast<const Error*>(&e);
    std::cerr << fmt::format("clusterbench {}: {}: {}\n", c.info.name, terminal_safe(who),
                             terminal_safe(e.what()));
    mpi::abort_job(static_cast<int>(error != nullptr ? error->code() : ExitCode::runtime));
  }
}

}  // namespace cb
