#include "bench/runner.h"

#include <fmt/format.h>

#include "bench/gather.h"
#include "bench/host_load.h"
#include "core/clock.h"

namespace cb {
namespace {

// How long a rank that finished or failed waits for the others before it gives up on them.
constexpr double kAgreeSeconds = 60;

// What became of the case on a rank; the largest over the ranks counts.
enum Status { fine = 0, failed = 1, refused = 2, interrupted = 3 };

struct Attempt {
  std::vector<Record> records;
  Status status = fine;
  Problems refusal = {};
};

Record bare(const Case& c, const Params& params, Outcome outcome) {
  Record record{.case_name = c.info.name, .params = params, .outcome = std::move(outcome)};
  record.started = record.ended = utc_now();
  return record;
}

std::optional<std::string> unmet_need(const Case& c, const Context& context) {
  if (context.comm.size() < c.info.needs.ranks) {
    return fmt::format("needs {} ranks, has {}: start it with mpirun or srun", c.info.needs.ranks,
                       context.comm.size());
  }
  if (c.info.needs.gpu && context.inventory.find("gpu") == nullptr)
    return fmt::format("no GPU on {}", context.place.host);
  return std::nullopt;
}

Attempt attempt(const Case& c, Context& context, const Params& params) {
  const std::string started = utc_now();
  try {
    Attempt out{c.run(context, params)};
    for (Record& r : out.records) {
      if (r.started.empty()) r.started = started;
      if (r.ended.empty()) r.ended = utc_now();
    }
    return out;
  } catch (const Interrupted& e) {
    return {e.finished(), interrupted};
  } catch (const UsageError& e) {
    return {{}, refused, e.problems()};
  } catch (const std::exception& e) {
    return {{bare(c, params, Errored{context.who(), e.what()})}, failed};
  }
}

// Where a rank failed, ranks hold different numbers of records: the failures alone are reported.
std::vector<Record> gather_failures(const Case& c, Context& context, const Params& params,
                                    std::vector<Record> mine) {
  if (mine.size() != 1 || mine[0].measured()) mine = {bare(c, params, Measured{})};
  std::vector<Record> joined = gather_records(context.comm, mine);
  return joined;
}

// What every rank had finished, in the Interrupted that goes on from rank 0.
Interrupted gather_finished(Context& context, const Attempt& mine) {
  std::vector<Record> finished;
  if (mine.status == interrupted) finished = mine.records;
  const double count = context.comm.min(static_cast<double>(finished.size()));
  finished.resize(static_cast<size_t>(count));
  return Interrupted(gather_records(context.comm, finished));
}

const Errored& why_failed(const Attempt& mine) {
  return std::get<Errored>(mine.records.at(0).outcome);
}

// A rank that failed says why even if the others, stuck where it left them, never come to hear it.
int agree(Context& context, const Attempt& mine) {
  try {
    return context.comm.agree(mine.status, kAgreeSeconds);
  } catch (const Error& e) {
    if (mine.status != failed) throw;
    const Errored& why = why_failed(mine);
    throw Error(fmt::format("{}: {} ({})", why.where, why.what, e.what()));
  }
}

}  // namespace

std::string Context::who() const {
  return comm.size() == 1 ? place.host : fmt::format("{} rank {}", place.host, comm.rank());
}

std::vector<Record> run_case(const Case& c, Context& context, const Params& params) {
  const auto unmet = unmet_need(c, context);
  if (context.comm.any(unmet.has_value())) {
    const Record mine = bare(c, params, unmet ? Outcome(Skipped{*unmet}) : Outcome(Measured{}));
    return gather_records(context.comm, {mine});
  }
  context.watchdog.note("running");
  const HostLoad load(context.fs);
  Attempt mine = attempt(c, context, params);
  context.watchdog.note("waiting for the other ranks");
  if (mine.status == failed) context.watchdog.fail(why_failed(mine).what);
  const int worst = agree(context, mine);
  context.watchdog.note("gathering the results");
  if (worst == interrupted) throw gather_finished(context, mine);
  if (worst == refused) throw_agreed(context.comm, "clusterbench " + c.info.name, mine.refusal);
  if (worst == failed) return gather_failures(c, context, params, std::move(mine.records));
  std::vector<Record> joined = gather_records(context.comm, mine.records);
  load.add_to(joined, context.comm, context.place);
  return joined;
}

}  // namespace cb
