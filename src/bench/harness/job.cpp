#include "bench/harness/job.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/harness/document_place.h"
#include "bench/harness/job_document.h"
#include "bench/harness/job_signals.h"
#include "bench/harness/last_words.h"
#include "bench/harness/runner.h"
#include "core/build_info.h"
#include "core/clock.h"
#include "core/messages/said.h"
#include "core/text.h"
#include "sys/inventory/inventory.h"
#include "sys/mpi/mpi.h"

namespace cb {
namespace {

// Starting MPI, gathering the inventories, writing the results and ending MPI count no steps, and
// take long on many hosts or busy ones: the stall limit holds there only where it is longer than
// this.
constexpr double kAroundSeconds = 120;

// A file that cannot be written is found before an hour of measuring, not after it. Collective:
// only rank 0's host writes, and all ranks stop if it cannot.
void require_writable(Comm& comm, const std::string& name, DocumentPlace& place) {
  Problems problems;
  if (comm.is_root()) {
    place.look();
    if (const auto why = place.why_not()) problems.add("--json", *why);
  }
  throw_agreed(comm, "clusterbench " + name, problems);
}

std::string own_build() {
  const BuildInfo& build = build_info();
  return fmt::format("{} {}{}", build.version, build.commit.substr(0, 12),
                     build.dirty ? " modified" : "");
}

// The same program everywhere, or nothing is measured: hosts with another build are named.
void require_same_program(Comm& comm, const std::string& name, const std::string& host) {
  const std::string mine = own_build();
  const std::string first = comm.broadcast_text(mine), first_host = comm.broadcast_text(host);
  Problems problems;
  if (mine != first) problems.add(host, said("locate.versions", mine, first_host, first).text());
  throw_agreed(comm, "clusterbench " + name, problems);
}

std::string what_is_run(const Case& c, const Params& params) {
  std::string out = c.info.name;
  for (const char* key : {"op", "dtype", "rw", "device"}) {
    if (params.has(key)) out += fmt::format(" {}", fmt::join(params.texts(key), ","));
  }
  return out;
}

// One job of this process, on the ranks that it has joined.
class JobRun {
 public:
  JobRun(const CaseJob& job, JobView& view, Comm& comm, Watchdog& watchdog, DocumentPlace& place,
         LastWords& last_words, const CancelToken& cancel)
      : job_(job),
        view_(view),
        comm_(comm),
        watchdog_(watchdog),
        document_place_(place),
        last_words_(last_words),
        cancel_(cancel),
        name_(job.what.info.name) {}

  // From the first collective call to the last. Every wait in here is under the watchdog.
  ExitCode run() {
    const FsRoot fs(job_.sysroot);
    const RankMap place = locate_ranks(comm_, host_name());
    require_same_program(comm_, name_, host_name());
    require_writable(comm_, name_, document_place_);
    const HostInventory inventory = collect_inventory(fs, place.host);
    Document document = begin_document(place, comm_.size(), job_.redact);
    watchdog_.note("gathering the hosts' inventories");
    document.hosts = gather_inventories(comm_, place, inventory);
    const auto side = last_words_.open_channel(comm_, place, watchdog_, cancel_, document);
    measure(fs, place, inventory, *side, document);
    watchdog_.note("waiting for rank 0 to write the results");
    side->close();
    const ExitCode code = comm_.is_root() ? finish_or_say_why(std::move(document)) : ExitCode::ok;
    return static_cast<ExitCode>(static_cast<int>(comm_.max(static_cast<double>(code))));
  }

 private:
  // The records of the document, and whether it is partial.
  void measure(const FsRoot& fs, const RankMap& place, const HostInventory& inventory,
               SideChannel& side, Document& document) {
    Sampler sampler(comm_, watchdog_, cancel_);
    Progress& progress = view_.progress(comm_.is_root());
    Context context{comm_, place, sampler, watchdog_, cancel_, progress, fs, inventory};
    context.redact = job_.redact;
    context.publisher = [&](const Record& record) { side.publish(record); };
    context.logger = [&](const std::string& text) {
      progress.done();  // else the line would stand behind the bar
      view_.say(fmt::format("clusterbench {}: note: {}\n", name_, terminal_safe(text)));
    };
    try {
      const Watchdog::IdleLimit measuring(watchdog_, job_.stall_seconds);
      document.records = run_case(job_.what, context, job_.params);
    } catch (const Interrupted& e) {
      document.records = e.finished();
      document.run.partial = said("run.interrupted");
    }
    progress.done();
  }

  ExitCode finish(Document document) {
    document.run.ended = utc_now();
    view_.results(document);
    if (!document_place_.none() && last_words_.takes_output())
      document_place_.write(document, Durable::yes);
    view_.outcome(document);
    return document.run.partial ? ExitCode::interrupted : outcome_code(document.records);
  }

  // Rank 0 alone writes, and the others wait to hear how it went: so it must not throw.
  ExitCode finish_or_say_why(Document document) {
    const bool interrupted = document.run.partial.has_value();
    try {
      return finish(std::move(document));
    } catch (const std::exception& e) {
      view_.say(fmt::format("clusterbench {}: {}\n", name_, terminal_safe(e.what())));
      return interrupted ? ExitCode::interrupted : ExitCode::runtime;
    }
  }

  const CaseJob& job_;
  JobView& view_;
  Comm& comm_;
  Watchdog& watchdog_;
  DocumentPlace& document_place_;
  LastWords& last_words_;
  const CancelToken& cancel_;
  const std::string& name_;
};

JobRanks join_launched(Watchdog& watchdog) {
  JobRanks out;
  if (mpi::launched()) {
    watchdog.note("opening the MPI library");
    watchdog.note("starting MPI with " + mpi::library_and_path());
    out.session = std::make_shared<mpi::Session>();
  }
  out.comm = out.session ? world_comm() : single_comm();
  mpi::require_launched_ranks(out.comm->size());
  return out;
}

}  // namespace

JobWorld job_world() {
  return {mpi::process_name(), join_launched,
          [](ExitCode code) { mpi::abort_job(static_cast<int>(code)); }};
}

bool launched_job() { return mpi::launched(); }

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

ExitCode run_job(const CaseJob& job, JobView& view, const JobWorld& world) {
  CancelToken cancel;
  const CancelOnSignal signals(cancel);
  DocumentPlace place(job.json, job.token);
  LastWords last_words(job.what.info.name, world, place, view);
  Watchdog watchdog([&](const WatchState& state) { last_words.on_expiry(state); });
  watchdog.arm(what_is_run(job.what, job.params), job.deadline_seconds,
               std::max(job.stall_seconds, kAroundSeconds));
  const JobRanks ranks = world.join(watchdog);  // left before the watchdog ends
  try {
    return JobRun(job, view, *ranks.comm, watchdog, place, last_words, cancel).run();
  } catch (const UsageError& e) {
    // Agreed on by all ranks. Said before MPI_Finalize: once another rank has ended with this code,
    // the launcher kills the rest.
    if (ranks.comm->is_root()) view.say(e.what() + std::string("\n"));
    return e.code();
  } catch (const std::exception& e) {
    if (ranks.comm->size() == 1) throw;
    // The other ranks wait in a collective that this one will never enter.
    const auto* error = dynamic_cast<const Error*>(&e);
    const ExitCode code = error != nullptr ? error->code() : ExitCode::runtime;
    view.say(fmt::format("clusterbench {}: {}: {}\n", job.what.info.name, terminal_safe(world.who),
                         terminal_safe(e.what())));
    world.abort(code);
    return code;
  }
}

}  // namespace cb
