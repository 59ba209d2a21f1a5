// What has to be right before anything is measured across hosts: one program everywhere, the same
// number of ranks, clocks, limits, room, and GPUs that nobody else uses. One short job across all.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/host/gpu_users.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/param_builder.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/units.h"
#include "model/clock_offset.h"

namespace cb {
namespace {

constexpr int kClockRounds = 9;

CaseInfo describe() {
  using namespace param;
  return {
      .name = "preflight",
      .device = "",
      .summary = "what has to be right before hosts are measured together",
      .example = "mpirun --map-by ppr:1:node clusterbench preflight --room /scratch",
      .domain = "host",
      .needs = {},
      .params = {text("room").help("directory whose free space is read").by_default(".")},
      .metrics = {{"clock_offset_seconds", "seconds", Better::lower,
                   "distance of the host's clock from the middle one of all hosts"},
                  {"free_bytes", "bytes", Better::higher, "free space of the directory"},
                  {"lockable_bytes", "bytes", Better::higher,
                   "memory that a process may lock: its limit, or all memory if that is less"},
                  {"open_files", "count", Better::higher, "files that a process may open"},
                  {"shared_memory_bytes", "bytes", Better::higher, "free space of /dev/shm"},
                  {"active_ports", "count", Better::higher, "RDMA ports that are active"}},
      .checks = {"same_program", "rank_map", "idle_gpus"},
      .fault = {.why_not = said("fault.counters")},
  };
}

// Gathers a text from every rank; all of them get all texts, by rank. No text has a line end.
std::vector<std::string> share_texts(Comm& comm, const std::string& mine) {
  const std::vector<std::string> all = comm.gather(mine);
  std::string joined;
  for (const std::string& text : all) joined += text + "\n";
  joined = comm.broadcast_text(std::move(joined));
  std::vector<std::string> out;
  for (size_t begin = 0; begin < joined.size();) {
    const size_t end = joined.find('\n', begin);
    out.push_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

double wall_clock_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct ClockReading {
  double offset_seconds = 0;  // of this rank's clock from rank 0's
  double error_seconds = 0;   // the offset is not known better than this
};

// All ranks look at their clocks behind the same barrier. The median over the rounds is free of the
// odd late rank; a barrier's own length bounds how far apart its ends are.
ClockReading read_clocks(Comm& comm) {
  Samples offsets, lengths;
  for (int round = 0; round < kClockRounds; ++round) {
    comm.barrier();
    const double begin = monotonic_seconds();
    comm.barrier();
    const double now = wall_clock_seconds();
    lengths.add(monotonic_seconds() - begin);
    const std::string root = comm.broadcast_text(fmt::format("{:.9f}", now));
    offsets.add(now - std::stod(root));
  }
  return {offsets.summary().median, lengths.summary().median};
}

// The first rank of each host speaks for its clock.
std::vector<double> share_offsets(Context& context, const ClockReading& clock) {
  const bool speaks = context.place.first_on_host();
  const std::vector<std::string> texts = share_texts(
      context.comm, speaks ? fmt::format("{:.9f}", clock.offset_seconds) : std::string());
  std::vector<double> out;
  for (const std::string& text : texts) {
    if (!text.empty()) out.push_back(std::stod(text));
  }
  return out;
}

void add_one(Record& record, const char* metric, size_t self, double value) {
  Samples samples;
  samples.add(value);
  record.add(metric, self, std::move(samples));
}

double lockable_bytes() {
  rlimit limit{};
  const auto memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return memory;
  return std::min(memory, static_cast<double>(limit.rlim_cur));
}

// What cannot be read has no figure, and a note says why.
void add_space(Record& record, const char* metric, size_t self, const std::string& directory) {
  std::error_code failed;
  const auto space = std::filesystem::space(directory, failed);
  if (!failed && (!std::filesystem::is_directory(directory, failed) || space.capacity == 0))
    failed = std::make_error_code(std::errc::not_a_directory);  // /proc holds no data either
  if (failed)
    record.notes.push_back(said("preflight.no_space", terminal_safe(directory), failed.message()));
  else
    add_one(record, metric, self, static_cast<double>(space.available));
}

void add_limits(Record& record, size_t self, const Params& params) {
  rlimit files{};
  add_one(record, "lockable_bytes", self, lockable_bytes());
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
    add_one(record, "open_files", self, static_cast<double>(files.rlim_cur));
  add_space(record, "free_bytes", self, params.text("room"));
  add_space(record, "shared_memory_bytes", self, "/dev/shm");
}

void add_ports(Record& record, size_t self, const HostInventory& inventory) {
  const std::vector<const Part*> ports = inventory.all("rdma");
  if (ports.empty()) return;
  const auto active = std::ranges::count_if(ports, [](const Part* p) {
    const auto state = p->attributes.find("state");
    return state != p->attributes.end() && state->second == Attribute(std::string("ACTIVE"));
  });
  add_one(record, "active_ports", self, static_cast<double>(active));
}

// The value that most ranks have; of equally frequent ones the first by rank.
std::string usual_of(const std::vector<std::string>& values) {
  std::map<std::string, int> counts;
  for (const std::string& v : values) ++counts[v];
  return *std::ranges::max_element(values, {}, [&](const std::string& v) { return counts[v]; });
}

void add_program_check(Record& record, size_t self, Context& context) {
  const std::string mine = sha256_hex_of_file("/proc/self/exe");
  const std::string usual = usual_of(share_texts(context.comm, mine));
  record.checks.push_back(
      {.name = "same_program",
       .passed = mine == usual,
       .entity = self,
       .detail = mine == usual ? Said()
                               : said("preflight.program", mine.substr(0, 12), usual.substr(0, 12)),
       .finding = true});
  record.facts["program_sha256"] = usual;
}

void add_rank_check(Record& record, size_t self, Context& context) {
  const std::string mine = std::to_string(context.place.local_size);
  const std::string usual = usual_of(share_texts(context.comm, mine));
  record.checks.push_back({.name = "rank_map",
                           .passed = mine == usual,
                           .entity = self,
                           .detail = mine == usual ? Said() : said("preflight.ranks", mine, usual),
                           .finding = true});
}

std::string names_of_users(const std::vector<GpuUser>& users) {
  std::string out;
  for (const GpuUser& user : users)
    out += fmt::format("{}{} ({}: {})", out.empty() ? "" : ", ", terminal_safe(user.name), user.pid,
                       fmt::join(user.devices, " "));
  return out;
}

// Without a check where nobody can say it: what was not looked at does not pass.
void add_gpu_check(Record& record, size_t self, const Context& context) {
  if (context.inventory.all("gpu").empty()) return;
  const GpuUsers found = gpu_users(context.fs);
  std::string names = names_of_users(found.users);
  if (names.empty() && !found.all_seen) {
    Said why;
    const auto told = gpu_users_by_driver(why);
    if (!told) {
      record.notes.push_back(said("preflight.gpus_unseen", why));
      return;
    }
    names = *told;
  }
  record.checks.push_back({.name = "idle_gpus",
                           .passed = names.empty(),
                           .entity = self,
                           .detail = names.empty() ? Said() : said("preflight.gpu_users", names),
                           .finding = true});
}

std::vector<Record> run_preflight(Context& context, const Params& params) {
  Record record{.case_name = "preflight", .params = params, .started = utc_now()};
  const size_t self = record.entity({context.place.host, "host", ""});
  const ClockReading clock = read_clocks(context.comm);
  const std::vector<double> offsets = share_offsets(context, clock);
  if (offsets.size() > 1) {
    add_program_check(record, self, context);
    add_rank_check(record, self, context);
    record.facts["clock_error"] = format_seconds(context.comm.max(clock.error_seconds));
  }
  if (context.place.first_on_host()) {
    if (const auto distance = clock_distance_seconds(clock.offset_seconds, offsets))
      add_one(record, "clock_offset_seconds", self, *distance);
    else
      record.notes.emplace_back(said("preflight.one_host"));
    add_limits(record, self, params);
    add_ports(record, self, context.inventory);
    add_gpu_check(record, self, context);
  }
  record.ended = utc_now();
  return {std::move(record)};
}

}  // namespace

Case preflight_case() { return {describe(), run_preflight}; }

}  // namespace cb
