#include "bench/storage/io/session.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/points.h"
#include "bench/storage/io/device_watch.h"
#include "bench/storage/io/dry_run.h"
#include "bench/storage/io/near_cpus.h"
#include "bench/storage/io/records.h"
#include "bench/storage/io/workload.h"
#include "core/clock.h"

namespace cb::io {
namespace {

std::vector<Direction> directions(const Job& job, const Params& params) {
  std::vector<Direction> out;
  const auto wanted = params.texts("direction");
  for (const Direction d : {Direction::read, Direction::write}) {
    const bool done = d == Direction::read ? job.reads() : job.writes();
    const bool asked = !(job.reads() && job.writes()) ||
                       std::find(wanted.begin(), wanted.end(), direction_name(d)) != wanted.end();
    if (done && asked) out.push_back(d);
  }
  return out;
}

std::string workload_of(const Params& params) {
  return params.has("workload") ? params.text("workload") : "";
}

// One rank of a host watches its disks, since all ranks of the host share them.
std::vector<block::Device> watched_disks(Context& context, Target& target) {
  if (!context.place.first_on_host()) return {};
  return disks_of(context.fs, target.view().fd, target.storage().source);
}

std::vector<int> cpus_near(Context& context, Target& target) {
  return near_cpus(disks_of(context.fs, target.view().fd, target.storage().source), read_machine());
}

// The rank whose part this one reads. By default it is on another host, so that no client reads
// from its own cache.
int other_rank(const Context& context, const Params& params) {
  const int64_t shift =
      params.has("rank-shift") ? params.integer("rank-shift") : context.place.local_size;
  return static_cast<int>((context.comm.rank() + shift) % context.comm.size());
}

// Gathers the ranks' lines and returns the one of `rank`. Collective.
std::string line_of_rank(Context& context, const std::string& mine, int rank) {
  std::string all;
  for (const std::string& line : context.comm.gather(mine)) all += line + "\n";
  std::istringstream lines(context.comm.broadcast_text(std::move(all)));
  std::string line;
  for (int i = 0; i <= rank; ++i) std::getline(lines, line);
  return line;
}

// --rank-shift for writes: another rank than the writer reads the data back. Collective; all ranks
// must have written.
bool swap_read_back(Context& context, const Params& params, Target& target, Measurement& m) {
  if (!params.has("rank-shift") || !target.job().writes() || context.comm.size() == 1) return true;
  const int other = other_rank(context, params);
  const std::string line = line_of_rank(
      context,
      fmt::format("{} {} {}", target.job().seed, fmt::join(m.run.issued, " "), target.path()),
      other);
  return all_well(context, [&] {
    std::istringstream in(line);
    uint64_t seed = 0;
    in >> seed;
    for (uint64_t& issued : m.run.issued) in >> issued;
    std::string path;
    std::getline(in >> std::ws, path);
    if (path.empty()) throw Error(said("io.account_missing", other));
    target.stand_for(other, path, seed);
    m.read_back_of = target.part_name();
  });
}

// Makes this rank read another rank's part. Collective.
bool shift_ranks(Context& context, const Params& params, Target& target) {
  const int other = other_rank(context, params);
  if (target.shared()) {
    target.take_part_of(other);
    return true;
  }
  const std::string path = line_of_rank(context, target.path(), other);
  return all_well(context, [&] {
    if (path != target.path()) target.read_from(path);
  });
}

// One file for all ranks: rank 0 makes it, the others open it. Collective.
bool make_shared(Context& context, Target& target) {
  std::string made;
  if (!all_well(context, [&] {
        if (context.comm.is_root()) {
          target.create(context.comm.size());
          made = target.invitation();
        }
      }))
    return false;
  made = context.comm.broadcast_text(std::move(made));
  return all_well(context, [&] {
    if (!context.comm.is_root()) target.join(made);
  });
}

bool make_file(Context& context, Target& target, Engine engine) {
  if (target.shared() ? !make_shared(context, target)
                      : !all_well(context, [&] { target.create(); }))
    return false;
  return all_well_together(context, [&](Agreement& agreement) {
    target.lay_out(engine, hooks_of(context, "laying out the file", &agreement), context.cancel);
    return true;
  });
}

std::vector<Record> records_of(Context& context, const Params& params, const Target& target,
                               const Measurement& m) {
  const bool failed = context.comm.any(m.run.failure.has_value());
  std::vector<Record> records;
  for (const Direction d : directions(target.job(), params))
    records.push_back(failed ? failed_record(context, params, target, m, d)
                             : record_of(context, params, d, target, m));
  return records;
}

// A drive that has just failed a request gets no more of them.
std::vector<Record> given_up(const Params& point) {
  return {{.case_name = "io", .params = point, .outcome = Skipped{said("io.failed_before")}}};
}

}  // namespace

bool prepare(Context& context, const std::vector<Params>& params,
             std::vector<std::unique_ptr<Target>>& targets, Preparation& out) {
  std::optional<SpaceNeed> need;
  if (!all_well(context, [&] {
        for (const Params& p : params) {
          out.choice = choose_engine(p.text("engine"),
                                     static_cast<unsigned>(p.integer("queue-depth")), context.fs);
          targets.push_back(std::make_unique<Target>(p, context));
          if (!targets.back()->own()) continue;
          const SpaceNeed more = targets.back()->space_need();
          if (!need) {
            need = more;
          } else {
            need->bytes += more.bytes;
            need->files += more.files;
          }
        }
      }))
    return false;
  const Params& first = params.front();
  if (need)
    require_space(context.comm, *need, static_cast<double>(first.integer("max-fill")) / 100);
  if (first.flag("dry-run")) {
    for (size_t i = 0; i < params.size(); ++i)
      out.dry_run.push_back(dry_run_record(context, params[i], *targets[i]));
    return true;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (targets[i]->own() && !make_file(context, *targets[i], out.choice.engine)) return false;
    if (!all_well(context, [&] {
          if (params[i].flag("pin")) targets[i]->bind_threads(cpus_near(context, *targets[i]));
        }))
      return false;
  }
  return true;
}

std::vector<Record> measure(Context& context, const Params& params, Target& target,
                            Measurement& m) {
  const std::string started = utc_now();
  std::optional<DeviceWatch> watch;
  if (!all_well(context, [&] { watch.emplace(context.fs, watched_disks(context, target)); }) ||
      !all_well_together(context,
                         [&](Agreement& agreement) {
                           run_measured(context, target, job_text(params), agreement, m);
                           return !m.run.failure && !m.run.wrong;
                         }) ||
      !all_well(context, [&] {
        if (!m.run.partial()) make_durable(context, target, params, m);
      }))
    return {};
  const bool partial = context.comm.any(m.run.partial() || m.run.wrong.has_value());
  if (!partial && !swap_read_back(context, params, target, m)) return {};
  if (!all_well(context, [&] {
        if (!partial) {
          read_back_writes(context, target, params, m);
          require_planted(m);
        }
        watch->stop();
      }))
    return {};
  std::vector<Record> records = records_of(context, params, target, m);
  for (Record& record : records) {
    watch->add_to(record, context.place.host);
    record.started = started;
    record.ended = utc_now();
  }
  return records;
}

std::vector<Record> measure_target(Context& context, const Params& params) {
  std::vector<std::unique_ptr<Target>> targets;
  Preparation ready;
  if (!prepare(context, {params}, targets, ready)) return {};
  if (!ready.dry_run.empty()) return ready.dry_run;
  Target& target = *targets.front();
  const bool shifts = workload_of(params) == "checkpoint-read";
  if (shifts && !shift_ranks(context, params, target)) return {};

  bool failed = false;
  const auto name = [&](unsigned depth) {
    return PointName{params.with("queue-depth", int64_t{depth}),
                     fmt::format("queue depth {}", depth)};
  };
  const auto measure_depth = [&](unsigned depth) {
    if (failed) return given_up(name(depth).params);
    target.set_queue_depth(depth);
    Measurement m{.choice = ready.choice};
    std::vector<Record> more = measure(context, name(depth).params, target, m);
    for (Record& record : more) {
      if (shifts)
        record.facts["reads_from"] = said("io.reads_from", context.comm.rank(), target.part_name());
    }
    failed = context.comm.any(m.run.failure.has_value());
    return more;
  };
  std::vector<Record> records =
      run_points(context, "io", queue_depths(params), name, measure_depth);
  // After this all_well() no rank reads another's file any more.
  all_well(context, [&] {
    if (params.flag("keep") && !failed) {
      if (target.is_maker()) records.back().notes.push_back(said("io.kept", target.keep()));
    } else {
      target.remove();
    }
  });
  return records;
}

}  // namespace cb::io
