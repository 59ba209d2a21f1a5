#include "bench/harness/last_words.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "sys/mpi/mpi.h"

namespace cb {
namespace {

// Rank 0 collects the last states, writes and ends the job within about a second; a busy disk can
// take several more.
constexpr double kRootEndsWithin = 30;
// Where rank 0 cannot: each rank has this long to say where it stands before one ends the job.
constexpr auto kOwnWords = std::chrono::milliseconds(700);

// A thread that keeps records may be stuck in that.
constexpr auto kOtherWriterWithin = std::chrono::seconds(2);

constexpr const char* kNextOfRanks =
    "  next      : look at the ranks that report nothing or wait for no one, and at their hosts' "
    "kernel logs\n";
constexpr const char* kNextAlone =
    "  next      : give it more time with --deadline and --stall; if it still does not move, look "
    "at the kernel log\n";

constexpr const char* kInterfaceVariable = "CLUSTERBENCH_INTERFACE";

// A partial document's reason and the first line on stderr.
Said headline(const JobFailure& trouble) {
  switch (trouble.kind) {
    case JobFailure::Kind::expired:
      if (trouble.used_up_seconds > 0)
        return said("hang.used_up", format_seconds(trouble.used_up_seconds),
                    format_seconds(trouble.idle_seconds));
      return said("hang.deadline", format_seconds(trouble.idle_seconds));
    case JobFailure::Kind::lost:
      return said("hang.rank_lost");
    case JobFailure::Kind::failed:
      return said("hang.rank_failed");
    case JobFailure::Kind::cancelled:
      break;
  }
  return said("run.interrupted");
}

std::string how_it_expired(const WatchState& state) {
  if (state.used_up_seconds > 0)
    return fmt::format("has not moved for {}, and all of {} has passed",
                       format_seconds(state.idle_seconds), format_seconds(state.used_up_seconds));
  return "has not moved for " + format_seconds(state.idle_seconds);
}

// "n1, n2, n3, n4 and 5 more".
std::string some_of(const std::vector<std::string>& hosts) {
  constexpr size_t kShown = 4;
  const std::span<const std::string> shown = std::span(hosts).first(std::min(kShown, hosts.size()));
  std::string out = fmt::format("{}", fmt::join(shown, ", "));
  if (hosts.size() > kShown) out += fmt::format(" and {} more", hosts.size() - kShown);
  return out;
}

std::string next_step(const JobFailure& trouble) {
  const HangDiagnosis& diagnosis = trouble.diagnosis;
  if (trouble.kind == JobFailure::Kind::failed)
    return "mend what that rank says; the others only waited";
  if (diagnosis.absent.empty())
    return "look at the links between the hosts, or give it more time with --deadline and --stall";
  const std::vector<std::string> hosts = hosts_at_fault(diagnosis);
  const char* whose = hosts.size() == 1 ? "its" : "their";
  return fmt::format("look at {}: {} kernel log, {} links, and whether the process still runs",
                     some_of(hosts), whose, whose);
}

}  // namespace

std::shared_ptr<SideChannel> LastWords::open_channel(Comm& comm, const RankMap& place,
                                                     Watchdog& watchdog, const CancelToken& cancel,
                                                     const Document& document) {
  document_ = document;
  root_host_ = place.hosts.at(0);
  SideChannelOptions options;
  if (const char* given = std::getenv(kInterfaceVariable)) options.interface = given;
  options.on_trouble = [this](const JobFailure& trouble) { on_trouble(trouble); };
  if (comm.is_root() && place_.takes_unfinished())
    options.on_finished = [this](std::vector<Record> finished) { keep(std::move(finished)); };
  options.on_root_lost = [this](const std::string& host) {
    view_.say(fmt::format(
        "clusterbench {}: {}: rank 0 on {} is gone: its connection broke\n  next: look at {}\n",
        case_name_, terminal_safe(world_.who), terminal_safe(host), terminal_safe(host)));
    world_.abort(ExitCode::runtime);
  };
  std::shared_ptr<SideChannel> channel =
      open_side_channel(comm, place, watchdog, cancel, std::move(options));
  const std::lock_guard lock(mutex_);
  channel_ = channel;
  return channel;
}

void LastWords::on_expiry(const WatchState& state) {
  std::shared_ptr<SideChannel> channel;
  {
    const std::lock_guard lock(mutex_);
    channel = channel_;
  }
  const double end = monotonic_seconds() + kRootEndsWithin;
  while (channel && !ended_ && channel->expired(state) && monotonic_seconds() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (ended_) return;
  std::string text =
      fmt::format("clusterbench {}: deadline: {} {} in {} ({}), {} iterations done\n", case_name_,
                  terminal_safe(world_.who), how_it_expired(state), state.doing,
                  state.note.empty() ? "starting" : state.note, state.iterations);
  if (channel)
    text += fmt::format("  not there : {} rank 0, which writes the results, does not answer\n",
                        terminal_safe(root_host_));
  view_.say(text + (mpi::launched() ? kNextOfRanks : kNextAlone));
  if (mpi::launched()) std::this_thread::sleep_for(kOwnWords);
  world_.abort(ExitCode::deadline);
}

void LastWords::on_trouble(const JobFailure& trouble) {
  const Said title = headline(trouble);
  if (trouble.kind == JobFailure::Kind::cancelled) return write_partial(trouble, title);
  std::string text = fmt::format("\nclusterbench {}: {}\n", case_name_, title.text());
  for (const std::string& line : trouble.diagnosis.lines) text += "  " + terminal_safe(line) + "\n";
  if (trouble.diagnosis.absent.empty()) text += "  " + trouble.diagnosis.reason.text() + "\n";
  text += "  next      : " + terminal_safe(next_step(trouble)) + "\n";
  view_.say(text);
  write_partial(trouble, said("said.of", title, trouble.diagnosis.reason));
  const bool expired = trouble.kind == JobFailure::Kind::expired;
  world_.abort(expired ? ExitCode::deadline : ExitCode::runtime);
  ended_ = true;
}

bool LastWords::takes_output() { return !place_.is_output() || !taken_.exchange(true); }

void LastWords::write_partial(const JobFailure& trouble, const Said& reason) {
  if (place_.none() || !takes_output()) return;
  try {
    write(trouble.finished, reason);
    view_.say(fmt::format("  results   : {} finished record{} in {} (partial)\n",
                          trouble.finished.size(), trouble.finished.size() == 1 ? "" : "s",
                          place_.path()));
  } catch (const std::exception& e) {
    view_.say(fmt::format("clusterbench {}: {}\n", case_name_, terminal_safe(e.what())));
  }
}

// What cannot be written now is written at the end, or the end says why not.
void LastWords::keep(std::vector<Record> finished) {
  try {
    write(std::move(finished), said("run.unfinished"));
  } catch (const std::exception&) {
  }
}

// Not durably: the ranks that wait can keep all processors busy, and a disk then takes long.
void LastWords::write(std::vector<Record> records, const Said& reason) {
  const std::unique_lock lock(writing_, kOtherWriterWithin);
  if (!lock) throw Error(fmt::format("cannot write {}: its disk does not answer", place_.path()));
  Document document = document_;
  document.records = std::move(records);
  document.run.partial = reason;
  document.run.ended = utc_now();
  place_.write(document, Durable::no);
}

}  // namespace cb
