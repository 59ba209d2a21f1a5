#include "campaign/executor.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "campaign/job_reason.h"
#include "campaign/journal.h"
#include "campaign/session_folder.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "cb-executor-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Directory() { fs::remove_all(path); }
  fs::path path;
};

Task shell(const Directory& directory, const std::string& script, double deadline = 30) {
  Task task;
  task.command.argv = {"sh", "-c", script};
  task.out = directory.path / "out";
  task.err = directory.path / "err";
  task.deadline_seconds = deadline;
  return task;
}

std::vector<TaskEnd> run(const std::vector<Task>& tasks, ExecutorOptions options = {}) {
  std::vector<TaskEnd> ends(tasks.size());
  options.term_grace_seconds = 0.3;
  run_tasks(tasks, options, {[](size_t) {}, [&](size_t i, const TaskEnd& end) { ends[i] = end; }});
  return ends;
}

// A signal to nobody asks whether the process is there; a killed orphan may stay a zombie where
// nothing reaps it.
bool is_running(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(in, text);
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

}  // namespace

TEST_CASE("exit codes, signals, output and environment") {
  const Directory d;
  Task greets = shell(d, "echo $GREETING; echo e >&2; cat; exit 3");
  greets.command.environment["GREETING"] = "hello";
  const auto ends = run({greets, shell(d, "kill -SEGV $$")});
  CHECK(ends[0].kind == TaskEnd::Kind::exited);
  CHECK(ends[0].code == 3);
  CHECK(read_file(d.path / "out") == "hello\n");
  CHECK(read_file(d.path / "err").starts_with("e\n"));
  CHECK(ends[1].kind == TaskEnd::Kind::signalled);
  CHECK(ends[1].code == SIGSEGV);
}

TEST_CASE("a program that is not there is not started") {
  const Directory d;
  Task task = shell(d, "");
  task.command.argv = {"/nowhere/program"};
  const auto ends = run({task});
  CHECK(ends[0].kind == TaskEnd::Kind::not_started);
  CHECK(ends[0].error.find("No such file") != std::string::npos);
}

TEST_CASE("past its deadline the whole group is ended, also where SIGTERM is ignored") {
  const Directory d;
  const double begin = monotonic_seconds();
  const auto ends =
      run({shell(d, "trap '' TERM; sleep 60 & echo $!; while :; do sleep 0.05; done", 2)});
  CHECK(monotonic_seconds() - begin < 12);
  CHECK(ends[0].kind == TaskEnd::Kind::deadline);
  const pid_t child = std::stoi(read_file(d.path / "out"));
  for (int i = 0; i < 100 && is_running(child); ++i) ::usleep(20000);
  CHECK_FALSE(is_running(child));
}

TEST_CASE("what a task leaves running in its group is ended with it") {
  const Directory d;
  run({shell(d, "sleep 60 & echo $!")});
  const pid_t child = std::stoi(read_file(d.path / "out"));
  for (int i = 0; i < 100 && is_running(child); ++i) ::usleep(20000);
  CHECK_FALSE(is_running(child));
}

TEST_CASE("the fan-out is a limit, and is used") {
  const Directory d;
  std::vector<Task> tasks(6, shell(d, "sleep 0.3"));
  size_t now = 0, most = 0;
  ExecutorOptions options;
  options.fan_out = 3;
  run_tasks(
      tasks, options,
      {[&](size_t) { most = std::max(most, ++now); }, [&](size_t, const TaskEnd&) { --now; }});
  CHECK(most == 3);
}

TEST_CASE("a stop ends what runs and starts nothing more") {
  const Directory d;
  int asked = 0;
  ExecutorOptions options;
  options.fan_out = 1;
  double begin = 0;  // of the first task; 0: not yet
  options.stop_signals = [&] {
    return begin > 0 && monotonic_seconds() - begin > 0.3 ? ++asked : 0;
  };
  std::vector<TaskEnd::Kind> kinds;
  run_tasks({shell(d, "sleep 60"), shell(d, "sleep 60")}, options,
            {[&](size_t) { begin = monotonic_seconds(); },
             [&](size_t, const TaskEnd& end) { kinds.push_back(end.kind); }});
  CHECK(kinds == std::vector{TaskEnd::Kind::stopped});
  CHECK(monotonic_seconds() - begin < 20);
}

TEST_CASE("a second signal does not wait for who ignores the first") {
  for (const auto& [signals, grace, patient] :
       {std::tuple(1, 1.0, true), std::tuple(2, 20.0, false)}) {
    const Directory d;
    double stopped = 0;  // when it was asked to; 0: not yet
    ExecutorOptions options;
    options.term_grace_seconds = grace;
    options.stop_signals = [&, sent = signals] {
      std::error_code absent;
      const bool ignores = fs::exists(d.path / "ignores", absent);
      if (stopped == 0 && ignores) stopped = monotonic_seconds();
      return stopped > 0 ? sent : 0;
    };
    const std::string script =
        fmt::format("trap '' TERM; : >{}; sleep 60 & wait; wait", (d.path / "ignores").string());
    std::vector<TaskEnd::Kind> kinds;
    run_tasks({shell(d, script, 90)}, options,
              {[](size_t) {}, [&](size_t, const TaskEnd& end) { kinds.push_back(end.kind); }});
    CHECK(kinds == std::vector{TaskEnd::Kind::stopped});
    CHECK((monotonic_seconds() - stopped >= grace) == patient);
  }
}

TEST_CASE("no task outlives an error of its observer") {
  const Directory d;
  Task ends =
      shell(d, fmt::format("until [ -s {} ]; do sleep 0.05; done", (d.path / "out").string()));
  ends.out = d.path / "other";
  const auto throwing = [&] {
    run_tasks({shell(d, "echo $$; exec sleep 60"), ends}, {},
              {[](size_t) {}, [](size_t, const TaskEnd&) { throw Error("disk full"); }});
  };
  CHECK_THROWS_AS(throwing(), Error);
  CHECK_FALSE(is_running(std::stoi(read_file(d.path / "out"))));
}

TEST_CASE("what the end of a job amounts to") {
  const Directory d;
  const LogTail log{d.path / "err", 6};
  std::ofstream(log.file) << "older\nnoise\nclusterbench: deadline: n2 rank 1 has not moved\n";
  const Document document;
  const auto concluded = [&](int code, const Document* with) {
    return conclude_job({TaskEnd::Kind::exited, code, 1, ""}, with, "it wrote no record file", log,
                        60);
  };
  for (const int code : {0, 1, 3}) {
    CHECK(concluded(code, &document).state == JobState::done);
    CHECK(concluded(code, nullptr).state == JobState::failed);
  }
  CHECK(concluded(124, nullptr).state == JobState::deadline);
  CHECK(concluded(124, nullptr).reason ==
        "it hung or ran too long: clusterbench: deadline: n2 rank 1 has not moved");
  for (const int code : {2, 4, 126, 127, 130})
    CHECK(concluded(code, &document).state == JobState::failed);
  CHECK(conclude_job({TaskEnd::Kind::signalled, SIGSEGV, 1, ""}, nullptr, "", log, 60).state ==
        JobState::failed);
  CHECK(conclude_job({TaskEnd::Kind::deadline, 0, 1, ""}, &document, "", log, 60).state ==
        JobState::deadline);
  CHECK(conclude_job({TaskEnd::Kind::stopped, 0, 1, ""}, &document, "", log, 60).state ==
        JobState::missing);
}

TEST_CASE("a journal is read back, torn lines are left out, and a new line begins after one") {
  const Directory d;
  const fs::path path = d.path / "journal.jsonl";
  CHECK(read_journal(path, {"0"}).jobs.empty());
  JobEvent start{.job = "001-a", .at = "t", .fingerprint = "f", .command = {"x"}};
  JobEvent end{.job = "001-a", .ended = true, .at = "u", .fingerprint = "f"};
  end.state = JobState::done;
  end.sha256 = "5";
  JournalWriter(path, "0").session({"t", {.version = "1"}, {"run"}});
  JournalWriter(path, "0").job(start);
  std::ofstream(path, std::ios::app) << R"({"event": "end", "jo)";
  CHECK(read_journal(path, {"0"}).last("001-a")->ended == false);
  CHECK(read_journal(path, {"0"}).warnings.size() == 1);
  JournalWriter(path, "0").job(end);
  const Journal journal = read_journal(path, {"0"});
  CHECK(journal.warnings.size() == 1);
  REQUIRE(journal.last("001-a")->ended);
  CHECK(journal.last("001-a")->state == JobState::done);
  CHECK(journal.last("001-a")->sha256 == "5");
  CHECK(journal.last_start("001-a")->command == std::vector<std::string>{"x"});
  CHECK(journal.sessions.at(0).tool.version == "1");
  CHECK(journal.finished.empty());
  JournalWriter(path, "0").finished("v", "00");
  CHECK(read_journal(path, {"0"}).finished == "v");
}

TEST_CASE("a task that says nothing until its start deadline is stopped, one that speaks is not") {
  const Directory d;
  Task silent = shell(d, "echo warning >&2; sleep 20");
  silent.start_deadline_seconds = 1;
  silent.out = d.path / "silent";
  std::ofstream(silent.out) << "of an earlier attempt\n";
  Task speaking = shell(d, "echo started; sleep 4");
  speaking.start_deadline_seconds = 3;
  const auto ends = run({silent, speaking});
  CHECK(ends[0].kind == TaskEnd::Kind::silent);
  CHECK(ends[0].seconds < 15);
  CHECK(ends[1].kind == TaskEnd::Kind::exited);
  const JobEnd end = conclude_job(ends[0], nullptr, "no record", {silent.err, 0}, 30);
  CHECK(end.state == JobState::deadline);
  CHECK(end.reason.text().find("it had not started after") != std::string::npos);
}

TEST_CASE("the folder of sessions is there and not empty while mpirun may begin, and gone then") {
  const Directory tmp;
  const auto entries = [&] {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(tmp.path)) out.push_back(entry);
    return out;
  };
  {
    const KeptSessionFolder kept(tmp.path);
    const auto made = entries();
    REQUIRE(made.size() == 2);
    CHECK(made[0].filename().string().starts_with("ompi."));
    CHECK(made[0].filename().string().ends_with("." + std::to_string(::geteuid())));
    CHECK(made[1] == made[0] / fmt::format("clusterbench-{}", ::getpid()));
    fs::create_directory(made[0] / "pid.1");  // a job's own
  }
  CHECK(entries().size() == 2);  // which stays
  CHECK(entries()[1].filename() == "pid.1");
  fs::remove(entries()[1]);
  { const KeptSessionFolder kept(tmp.path); }
  CHECK(entries().size() == 1);  // the folder was there before
  fs::remove(entries()[0]);
  { const KeptSessionFolder kept(tmp.path); }
  CHECK(entries().empty());
  { const KeptSessionFolder nowhere(tmp.path / "absent"); }
  CHECK(entries().empty());
}

TEST_CASE("a link under the name of the folder of sessions is not followed") {
  const Directory tmp, other;
  fs::path folder;
  {
    const KeptSessionFolder kept(tmp.path);
    folder = fs::directory_iterator(tmp.path)->path();
  }
  fs::create_directory_symlink(other.path, folder);
  const KeptSessionFolder kept(tmp.path);
  CHECK(fs::is_empty(other.path));
}

TEST_CASE("several jobs of Open MPI's mpirun find the folder of sessions kept") {
  const Directory directory;
  ::setenv("OMPI_MCA_orte_tmpdir_base", directory.path.c_str(), 1);
  const auto folders_seen = [&](size_t count, bool by_open_mpi) {
    std::vector<Task> tasks(count,
                            shell(directory, "ls -d $OMPI_MCA_orte_tmpdir_base/ompi.*/clus*"));
    for (Task& task : tasks) task.command.by_open_mpi = by_open_mpi;
    fs::remove(directory.path / "out");
    run_tasks(tasks, {}, {[](size_t) {}, [](size_t, const TaskEnd&) {}});
    const std::string out = read_file(directory.path / "out");
    return std::ranges::count(out, '\n');
  };
  CHECK(folders_seen(2, true) == 2);
  CHECK(folders_seen(2, false) == 0);
  CHECK(folders_seen(1, true) == 0);  // there is no other one that could be in its way
  ::unsetenv("OMPI_MCA_orte_tmpdir_base");
}
