#include "bench/harness/runner.h"

#include <fmt/format.h>

#include "bench/harness/declared.h"
#include "bench/harness/gather.h"
#include "bench/harness/host_load.h"
#include "core/clock.h"
#include "core/secrets.h"

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
  Said failure = {};
};

// Keys of the site belong in no document.
void hide_secrets(Record& record) {
  const Params given = record.params;
  for (const auto& [name, values] : given.all()) {
    if (names_secret(name)) record.params.erase(name);
  }
}

Record bare(const Case& c, const Params& params, Outcome outcome) {
  Record record{.case_name = c.info.name, .params = params, .outcome = std::move(outcome)};
  hide_secrets(record);
  record.started = record.ended = utc_now();
  return record;
}

std::optional<Said> unmet_need(const Case& c, const Context& context) {
  if (context.comm.size() < c.info.needs.ranks) {
    return said("need.ranks_here", c.info.needs.ranks, context.comm.size());
  }
  if (c.info.needs.gpu && context.inventory.find("gpu") == nullptr)
    return said("need.gpu_here", context.place.host);
  return std::nullopt;
}

Attempt attempt(const Case& c, Context& context, const Params& params) {
  const std::string started = utc_now();
  try {
    Attempt out{c.run(context, params)};
    for (Record& r : out.records) {
      complete_metrics(r, c.info);
      if (r.started.empty()) r.started = started;
      if (r.ended.empty()) r.ended = utc_now();
    }
    return out;
  } catch (const Interrupted&) {
    return {.records = {}, .status = interrupted};
  } catch (const UsageError& e) {
    return {.records = {}, .status = refused, .refusal = e.problems()};
  } catch (const std::exception& e) {
    return {.records = {}, .status = failed, .failure = said_by(e)};
  }
}

// Collective. What every rank had finished when one of them was interrupted or failed.
std::vector<Record> finished_everywhere(Context& context, std::vector<Record> finished) {
  const double count = context.comm.min(static_cast<double>(finished.size()));
  finished.resize(static_cast<size_t>(count));
  return finished;
}

// What was finished stays, and one record behind it says which ranks failed and why.
std::vector<Record> with_failure(const Case& c, const Context& context, const Params& params,
                                 const Attempt& mine, std::vector<Record> finished) {
  finished.push_back(bare(
      c, params,
      mine.status == failed ? Outcome(Errored{context.who(), mine.failure}) : Outcome(Measured{})));
  return finished;
}

// A rank that failed says why even if the others, stuck where it left them, never come to hear it.
int agree(Context& context, const Attempt& mine) {
  try {
    return context.comm.agree(mine.status, kAgreeSeconds);
  } catch (const Error& e) {
    if (mine.status != failed) throw;
    throw Error(said("said.of", context.who(), said("said.because", mine.failure, e.said())));
  }
}

}  // namespace

std::string Context::who() const {
  if (!called.empty()) return called;
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
  std::vector<Record> finished;
  Context own = context;
  own.finished = &finished;
  own.info = &c.info;
  const Attempt mine = attempt(c, own, params);
  context.watchdog.note("waiting for the other ranks");
  if (mine.status == failed) context.watchdog.fail(pack_said(mine.failure));
  const int worst = agree(context, mine);
  context.watchdog.note("gathering the results");
  if (worst == refused) throw_agreed(context.comm, "clusterbench " + c.info.name, mine.refusal);
  std::vector<Record> share = worst == fine ? mine.records : finished_everywhere(context, finished);
  if (worst == failed) share = with_failure(c, context, params, mine, std::move(share));
  for (Record& record : share) hide_secrets(record);
  std::vector<Record> joined = gather_records(context.comm, share);
  load.add_to(joined, context.comm, context.place);
  if (worst == interrupted) throw Interrupted(std::move(joined));
  return joined;
}

}  // namespace cb
