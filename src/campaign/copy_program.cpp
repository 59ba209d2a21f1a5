#include "campaign/copy_program.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "campaign/answer.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The slowest way that is waited for.
constexpr double kBytesPerSecond = 1e6;
constexpr double kPiecesPerSecond = 30;
constexpr double kScriptSeconds = 60;
constexpr const char* kDone = "clusterbench-copy-done";  // what both scripts end with

// The codes that the scripts end with. Shells and launchers have 1, 2, and 126 and more for
// themselves.
enum class CopyCode {
  no_folder = 40,
  not_ours,
  no_room,
  damaged,
  no_exec,
  no_start,
  kept,
  cut_short
};

std::string why_text(int code) {
  switch (static_cast<CopyCode>(code)) {
    case CopyCode::no_folder:
      return "no folder can be made there";
    case CopyCode::not_ours:
      return "a folder of that name is there, and this campaign has not made it";
    case CopyCode::no_room:
      return "the files do not fit";
    case CopyCode::damaged:
      return "a file arrived damaged";
    case CopyCode::no_exec:
      return "no program may be started there (noexec)";
    case CopyCode::no_start:
      return "the program does not start there: another architecture, or a libc older than 2.28";
    case CopyCode::kept:
      return "the folder holds files of others, and was kept";
    case CopyCode::cut_short:
      return "the launcher brought a part of the files alone";
  }
  return fmt::format("code {}", code);
}

// Arguments: folder, id, bytes in all, bytes of a piece, then NAME BYTES SHA256 for every file. The
// files come on standard input, one behind the other, in pieces that the script asks for. It counts
// bytes: some launchers never tell it that the input has ended. Hosts may share the folder, and
// then all of them write it at once: each writes under names of its own and renames. No word that
// is waited for stands in the script as it is: a launcher may print what it starts.
constexpr const char* kBring = R"sh(
umask 077
folder=$1 id=$2 left=$3 piece=$4 own=$(uname -n).$$
shift 4
ours() { [ ! -L "$folder" ] && [ -O "$folder" ] && [ "$(cat "$folder/.clusterbench-copy" 2>/dev/null)" = "$id" ]; }
# Whoever made the folder just now has not marked it yet: no marker at all is waited for, another's is not.
theirs() { [ -L "$folder" ] || [ ! -O "$folder" ] || { [ -e "$folder/.clusterbench-copy" ] && ! ours; }; }
if mkdir "$folder"; then
  echo "$id" >"$folder/.new.$own" && mv "$folder/.new.$own" "$folder/.clusterbench-copy" || exit 42
else
  [ -d "$folder" ] || exit 40
  for _ in 1 2 3; do ours && break; theirs && exit 41; sleep 1; done
  ours || exit 41
fi
cd "$folder" || exit 40
trap 'rm -f ".payload.$own" ".new.$own" ".may-start.$own"' EXIT
size() { wc -c <"$1"; }
# An input that has ended gives nothing more. Looked at now and then: each time takes a process.
all_here() { [ "$(size ".payload.$own")" -eq "$asked" ] || exit 47; }
asked=0 turn=0
true >".payload.$own" || exit 42
while [ "$left" -gt 0 ]; do
  [ "$piece" -le "$left" ] || piece=$left
  echo clusterbench-next"-piece"
  head -c "$piece" >>".payload.$own" || exit 42
  left=$((left - piece)) asked=$((asked + piece)) turn=$((turn + 1))
  [ $((turn % 64)) -ne 0 ] || all_here
done
echo clusterbench-next"-piece" # there is none: the input ends
all_here
begin=1
while [ $# -gt 0 ]; do
  { tail -c +"$begin" ".payload.$own" | head -c "$2" >".new.$own"; } 2>/dev/null
  [ "$(size ".new.$own")" -eq "$2" ] || exit 42
  echo "$3  .new.$own" | sha256sum -c >/dev/null || exit 43
  chmod 700 ".new.$own" && mv -f ".new.$own" "$1" || exit 42
  begin=$((begin + $2))
  [ "${program-}" ] || program=$1
  shift 3
done
printf '#!/bin/sh\nexit 0\n' >".may-start.$own" && chmod 700 ".may-start.$own" || exit 42
"./.may-start.$own" || exit 44
"./$program" --version || exit 45
echo clusterbench-copy"-done"
)sh";

// Arguments: folder, id, then the files' names. Another host may remove a shared folder meanwhile.
constexpr const char* kRemove = R"sh(
folder=$1 id=$2
shift 2
gone() { echo clusterbench-copy"-done" && exit 0; }
for _ in 1 2 3; do
  [ -e "$folder" ] || gone
  code=41
  if [ ! -L "$folder" ] && [ -O "$folder" ] && [ "$(cat "$folder/.clusterbench-copy" 2>/dev/null)" = "$id" ] && cd "$folder"; then
    code=46
    rm -f .payload.* .new.* .may-start.* "$@"
    [ "$(ls -A)" = .clusterbench-copy ] && rm -f .clusterbench-copy && cd / && rmdir "$folder" && gone
    cd /
  fi
  sleep 1
done
[ ! -e "$folder" ] || exit "$code"
gone
)sh";

struct CopiedFile {
  std::string name, sha256;
  uintmax_t bytes = 0;
};

class Copier {
 public:
  explicit Copier(const CopySetup& setup)
      : setup_(setup), payload_(setup.logs.parent_path() / "copy.payload.partial") {
    files_.push_back(described(setup.program, "clusterbench"));
    for (const fs::path& file : setup.beside)
      files_.push_back(described(file, file.filename().string()));
  }

  CopyEnd bring(const std::function<void(const std::string&)>& trying) {
    const Payload payload(*this);
    CopyEnd best;
    std::vector<CopyRefusal> refusals;
    for (const std::string& place : setup_.places) {
      if (setup_.executor.stop_signals() > 0) break;
      trying(place);
      CopyEnd end = bring_to(place);
      refusals.insert(refusals.end(), end.refusals.begin(), end.refusals.end());
      if (end.hosts.size() > best.hosts.size()) std::swap(end, best);
      if (!end.hosts.empty()) remove(end);
      if (!better_elsewhere(best)) break;
    }
    best.refusals = std::move(refusals);
    if (best.hosts.empty()) best.program.clear();
    return best;
  }

  std::vector<std::string> remove(const CopyEnd& copies) {
    std::vector<std::string> names;
    for (const CopiedFile& file : files_) names.push_back(file.name);
    const std::vector<HostSlots> hosts = hosts_named(copies.hosts);
    const std::vector<Answer> ends =
        run(hosts, kRemove, fs::path(copies.program).parent_path().string(), names, {},
            kScriptSeconds, false);
    std::vector<std::string> out;
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (!ends[i].is_done()) out.push_back(hosts[i].name);
    }
    return out;
  }

 private:
  // All files in one, as long as they are sent.
  class Payload {
   public:
    explicit Payload(const Copier& copier) : file_(copier.payload_) {
      std::ofstream out(file_, std::ios::binary | std::ios::trunc);
      std::vector<fs::path> sources{copier.setup_.program};
      sources.insert(sources.end(), copier.setup_.beside.begin(), copier.setup_.beside.end());
      for (const fs::path& source : sources) out << std::ifstream(source, std::ios::binary).rdbuf();
      out.flush();
      if (!out) throw Error(fmt::format("cannot write {}: is the disk full?", file_.string()));
    }
    ~Payload() {
      std::error_code ignored;
      fs::remove(file_, ignored);
    }
    Payload(const Payload&) = delete;
    Payload& operator=(const Payload&) = delete;

   private:
    fs::path file_;
  };

  static CopiedFile described(const fs::path& file, const std::string& name) {
    return {.name = name, .sha256 = sha256_hex_of_file(file), .bytes = fs::file_size(file)};
  }

  // A host that does not answer answers nowhere; one that has a reason may take another place.
  bool better_elsewhere(const CopyEnd& best) const {
    return best.hosts.size() < setup_.hosts.size() &&
           std::ranges::any_of(setup_.hosts, [&](const HostSlots& h) {
             return std::ranges::find(best.hosts, h.name) == best.hosts.end() &&
                    !silent_.contains(h.name);
           });
  }

  CopyEnd bring_to(const std::string& place) {
    const std::string folder = fs::path(place) / ("clusterbench-" + setup_.id);
    CopyEnd out{.program = folder + "/clusterbench"};
    uintmax_t bytes = 0;
    for (const CopiedFile& file : files_) bytes += file.bytes;
    const uintmax_t piece = setup_.piece == 0 ? bytes : setup_.piece;
    std::vector<std::string> words{std::to_string(bytes), std::to_string(piece)};
    for (const CopiedFile& file : files_)
      words.insert(words.end(), {file.name, std::to_string(file.bytes), file.sha256});
    std::vector<HostSlots> hosts;
    for (const HostSlots& h : setup_.hosts) {
      if (!silent_.contains(h.name)) hosts.push_back(h);
    }
    const std::vector<Answer> ends =
        run(hosts, kBring, folder, words, payload_, seconds_for(bytes), true);
    std::vector<std::string> begun;
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (ends[i].is_done()) {
        out.hosts.push_back(hosts[i].name);
        continue;
      }
      out.refusals.push_back({hosts[i].name, place, why(ends[i].end)});
      if (!has_reason(ends[i].end)) silent_.insert(hosts[i].name);
      if (may_have_begun(ends[i].end)) begun.push_back(hosts[i].name);
    }
    clean(out, begun);
    return out;
  }

  // Takes away what is there of a copy that did not come to its end, and says where that failed.
  void clean(CopyEnd& copy, const std::vector<std::string>& begun) {
    if (begun.empty()) return;
    const std::vector<std::string> kept = remove({.program = copy.program, .hosts = begun});
    for (CopyRefusal& r : copy.refusals) {
      if (std::ranges::find(kept, r.host) == kept.end() || !silent_.contains(r.host)) continue;
      r.why += fmt::format("; next: remove {} there, if it is there",
                           fs::path(copy.program).parent_path().string());
    }
  }

  double seconds_for(uintmax_t bytes) const {
    const auto all = static_cast<double>(bytes);
    return kScriptSeconds + (setup_.piece == 0
                                 ? all / kBytesPerSecond
                                 : all / static_cast<double>(setup_.piece) / kPiecesPerSecond);
  }

  static bool has_reason(const TaskEnd& end) {
    return end.kind == TaskEnd::Kind::exited && end.code >= static_cast<int>(CopyCode::no_folder) &&
           end.code <= static_cast<int>(CopyCode::cut_short);
  }

  // A launcher that ended with another code has not reached the host, or lost it.
  static bool may_have_begun(const TaskEnd& end) {
    return has_reason(end) || end.kind == TaskEnd::Kind::stopped ||
           end.kind == TaskEnd::Kind::deadline ||
           (end.kind == TaskEnd::Kind::exited && end.code == 0);
  }

  static std::string why(const TaskEnd& end) {
    if (has_reason(end)) return why_text(end.code);
    if (end.kind == TaskEnd::Kind::not_started) return end.error;
    if (end.kind == TaskEnd::Kind::deadline) return "it did not answer in time";
    if (end.kind == TaskEnd::Kind::stopped) return "it was interrupted";
    if (end.kind == TaskEnd::Kind::exited && end.code == 0)
      return "the launcher ended as if all were well, but the host did not say that it has the "
             "files: see logs/copy.err";
    return fmt::format("the launcher ended with code {}: see logs/copy.err", end.code);
  }

  std::vector<HostSlots> hosts_named(const std::vector<std::string>& names) const {
    std::vector<HostSlots> out;
    for (const HostSlots& h : setup_.hosts) {
      if (std::ranges::find(names, h.name) != names.end()) out.push_back(h);
    }
    return out;
  }

  // Runs the script once on each of the hosts. `stoppable`: a signal ends it; what is removed is
  // removed all the same.
  std::vector<Answer> run(const std::vector<HostSlots>& hosts, const char* script,
                          const std::string& folder, const std::vector<std::string>& words,
                          const fs::path& input, double seconds, bool stoppable) const {
    std::vector<Task> tasks;
    for (const HostSlots& host : hosts) {
      std::vector<std::string> program{"sh", "-c", script, "sh", folder, setup_.id};
      program.insert(program.end(), words.begin(), words.end());
      Task task;
      task.command = launch_command(setup_.launch, {host}, 1, {}, program);
      task.in = input;
      task.piece = input.empty() ? 0 : setup_.piece;
      // The campaign's logs are closed when the copies are removed.
      task.out = stoppable ? setup_.logs / "copy.out" : fs::path("/dev/null");
      task.err = stoppable ? setup_.logs / "copy.err" : fs::path("/dev/null");
      task.deadline_seconds = seconds;
      tasks.push_back(std::move(task));
    }
    ExecutorOptions options = setup_.executor;
    if (!stoppable) options.stop_signals = [] { return 0; };
    return run_for_answers(std::move(tasks), options, payload_.parent_path(), kDone);
  }

  const CopySetup& setup_;
  fs::path payload_;
  std::vector<CopiedFile> files_;
  std::set<std::string> silent_;  // hosts that the launcher does not reach
};

}  // namespace

std::vector<std::string> copy_places() { return {"/tmp", "/var/tmp", "/dev/shm"}; }

CopyEnd copy_program(const CopySetup& setup,
                     const std::function<void(const std::string&)>& trying) {
  return Copier(setup).bring(trying);
}

std::vector<std::string> remove_copies(const CopySetup& setup, const CopyEnd& copies) {
  return copies.hosts.empty() ? std::vector<std::string>{} : Copier(setup).remove(copies);
}

}  // namespace cb
