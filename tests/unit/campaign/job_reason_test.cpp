// What the end of a job's process amounts to.
#include "campaign/job_reason.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "core/exit_code.h"

using namespace cb;

namespace {

namespace fs = std::filesystem;

struct JobLog {
  explicit JobLog(const std::string& text) {
    std::string name = (fs::temp_directory_path() / "cb-log-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory = name;
    std::ofstream(directory / "err", std::ios::binary) << text;
  }
  ~JobLog() { fs::remove_all(directory); }
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;

  LogTail tail(uintmax_t begin = 0) const { return {directory / "err", begin}; }

  fs::path directory;
};

JobEnd job_end(TaskEnd::Kind kind, int code, const Document* document, const LogTail& log) {
  TaskEnd end;
  end.kind = kind;
  end.code = code;
  end.error = "no such program";
  return conclude_job(end, document, "it left no result document", log, 90);
}

JobEnd job_exit(ExitCode code, const Document* document, const LogTail& log) {
  return job_end(TaskEnd::Kind::exited, static_cast<int>(code), document, log);
}

}  // namespace

TEST_CASE("each code that a job ends with, with a document and without one") {
  const JobLog log("");
  const Document document;
  for (const ExitCode code : {ExitCode::ok, ExitCode::not_accepted, ExitCode::incomplete}) {
    CHECK(job_exit(code, &document, log.tail()).state == JobState::done);
    CHECK(job_exit(code, nullptr, log.tail()).state == JobState::failed);
    CHECK(job_exit(code, nullptr, log.tail()).reason == "it left no result document");
  }
  Document partial;
  partial.run.partial = "not all of it";
  for (const ExitCode code : {ExitCode::ok, ExitCode::not_accepted, ExitCode::incomplete}) {
    CHECK(job_exit(code, &partial, log.tail()).state == JobState::failed);
    CHECK(job_exit(code, &partial, log.tail()).reason == "not all of it");
  }
  CHECK(job_exit(ExitCode::deadline, &document, log.tail()).state == JobState::deadline);
  CHECK(job_exit(ExitCode::deadline, &document, log.tail()).reason == "it hung or ran too long");
  CHECK(job_exit(ExitCode::usage, &document, log.tail()).reason == "its command was refused");
  CHECK(job_exit(ExitCode::interrupted, &document, log.tail()).reason ==
        "it was interrupted from outside");
  CHECK(job_exit(ExitCode::runtime, &document, log.tail()).reason ==
        "it ended with code " + std::to_string(static_cast<int>(ExitCode::runtime)));
  CHECK(job_end(TaskEnd::Kind::exited, 77, nullptr, log.tail()).reason == "it ended with code 77");
}

TEST_CASE("a document names who did not arrive, or what broke") {
  const JobLog log("clusterbench: from the log\n");
  Document document;
  document.run.partial = "n2 did not arrive";
  CHECK(job_exit(ExitCode::deadline, &document, log.tail()).reason == "n2 did not arrive");
  CHECK(job_exit(ExitCode::deadline, nullptr, log.tail()).reason ==
        "it hung or ran too long: clusterbench: from the log");
  document.records = {{.case_name = "x"}, {.case_name = "x", .outcome = Errored{"n1", "broke"}}};
  CHECK(job_exit(ExitCode::runtime, &document, log.tail()).reason == "n1: broke");
  document.records.pop_back();
  CHECK(job_exit(ExitCode::runtime, &document, log.tail()).reason ==
        "it ended with code 4: clusterbench: from the log");
}

TEST_CASE("a signal, a deadline, a stop and a start that failed") {
  const JobLog log("");
  CHECK(job_end(TaskEnd::Kind::signalled, 9, nullptr, log.tail()).reason ==
        "it was killed by signal 9 (Killed)");
  CHECK(job_end(TaskEnd::Kind::signalled, 9, nullptr, log.tail()).state == JobState::failed);
  CHECK(job_end(TaskEnd::Kind::deadline, 0, nullptr, log.tail()).reason ==
        "it was killed after its deadline of 90.0 s");
  CHECK(job_end(TaskEnd::Kind::deadline, 0, nullptr, log.tail()).state == JobState::deadline);
  CHECK(job_end(TaskEnd::Kind::stopped, 0, nullptr, log.tail()).state == JobState::missing);
  CHECK(job_end(TaskEnd::Kind::not_started, 0, nullptr, log.tail()).reason == "no such program");
}

TEST_CASE("of a log this tool's first line counts, else the first that says something") {
  const auto said = [](const std::string& text, uintmax_t begin = 0) {
    const JobLog log(text);
    return job_exit(ExitCode::usage, nullptr, log.tail(begin)).reason.text().substr(23);
  };
  CHECK(said("\n---\n=== *\nfirst\nsecond\n") == ": first");
  CHECK(said("first\nclusterbench: a\nclusterbench: b\n") == ": clusterbench: a");
  CHECK(said("old\nnew\n", 4) == ": new");
  const std::string framed = "---\nWARNING: a value is invalid.\n\n  Value: x\n---\n";
  CHECK(said(framed + "ssh: no route\n") == ": ssh: no route");
  CHECK(said(framed) == ": WARNING: a value is invalid.");
  CHECK(said("WARNING: a value is invalid.\nssh: no route\n") == ": ssh: no route");
  CHECK(said("clusterbench fake: 2 problems\n  --value  no number\n  --x  y\n") ==
        ": clusterbench fake: 2 problems: --value  no number");
  CHECK(said("clusterbench fake: note: rank 0: n1\nclusterbench fake: broke\n") ==
        ": clusterbench fake: broke");
  CHECK(said("clusterbench fake: note: rank 0: n1\nssh: no route\n") == ": ssh: no route");
  CHECK(said("clusterbench fake: n1: note: 3\n") == ": clusterbench fake: n1: note: 3");
  CHECK(said("clusterbench fake: 1 problem\n") == ": clusterbench fake: 1 problem");
  CHECK(said("no end") == ": no end");
  CHECK(said("a\x1b[31m\n") == ": a?[31m");
  CHECK(said(std::string(400, 'x') + "\n") == ": " + std::string(300, 'x'));
  CHECK(said("---\n").empty());
  CHECK(said("").empty());
}

TEST_CASE("a note with a next step is the reason where no other line of this tool is one") {
  const auto said = [](const std::string& text) {
    const JobLog log(text);
    return job_end(TaskEnd::Kind::deadline, 0, nullptr, log.tail()).reason.text().substr(42);
  };
  const std::string map = "clusterbench nccl: note: rank 0: n1 GPU 0\n";
  const std::string first = "clusterbench nccl: note: n1 rank 0 is late; next: look at n1\n";
  const std::string last = "clusterbench nccl: note: n2 rank 3 has not come back; next: dmesg\n";
  const std::string expected =
      ": clusterbench nccl: note: n2 rank 3 has not come back; next: dmesg";
  CHECK(said(map + last + map) == expected);
  CHECK(said(first + last) == expected);
  CHECK(said("mpirun: rank 3 was killed\n" + last) == expected);
  CHECK(said(last + "clusterbench nccl: broke\n") == ": clusterbench nccl: broke");
  CHECK(said("clusterbench nccl: broke\n" + last) == ": clusterbench nccl: broke");
  CHECK(said(map + "mpirun: rank 3 was killed\n") == ": mpirun: rank 3 was killed");
  CHECK(said(map).empty());
}

namespace {

constexpr int kSigkill = 137;  // mpirun's code where signal 9 ended a rank
const std::string kKilledText = "it ended with code 137: a process was killed by signal 9 (Killed)";
const std::string kMpirun =
    "mpirun noticed that process rank 3 with PID 7 on node n2 exited on signal 9 (Killed).\n";

std::string reason_of_killed(const std::string& text, const Document* document = nullptr) {
  const JobLog log(text);
  const JobEnd end = job_end(TaskEnd::Kind::exited, kSigkill, document, log.tail());
  CHECK(end.state == JobState::failed);
  REQUIRE(end.reason.text().starts_with(kKilledText));
  return end.reason.text().substr(kKilledText.size());
}

Document partial_document(const Said& why) {
  Document out;
  out.run.hosts = {"n1", "n2"};
  out.run.partial = why;
  return out;
}

Document naming_n2() {
  return partial_document(
      said("said.of", said("hang.rank_lost"), said("said.of", "n2 rank 3", said("hang.never"))));
}

}  // namespace

TEST_CASE(
    "the launcher's word on who was killed counts more than that of a rank which lost others") {
  const std::string prterun =
      "prterun noticed that process rank 3 with PID 7 on node n4 exited on\nsignal 9 (Killed).\n";
  const std::string lost =
      "clusterbench train: n3 rank 2: rank 0 on n1 is gone: its connection broke\n";
  CHECK(reason_of_killed(lost + prterun) ==
        ": prterun noticed that process rank 3 with PID 7 on node n4 exited on signal 9 (Killed).");
  CHECK(reason_of_killed("clusterbench train: n3 rank 2: rank 3 on n4 is gone\n" + prterun) ==
        ": clusterbench train: n3 rank 2: rank 3 on n4 is gone");
  CHECK(reason_of_killed("clusterbench train: n3 rank 2: rank 9 on n40 is gone\n" + prterun) ==
        ": prterun noticed that process rank 3 with PID 7 on node n4 exited on signal 9 (Killed).");
  CHECK(reason_of_killed(lost + "srun: error: n4: task 3: Killed\n") ==
        ": srun: error: n4: task 3: Killed");
}

TEST_CASE("of a rank that was killed the partial document says which, and on which host") {
  const Document named = naming_n2();
  CHECK(reason_of_killed("clusterbench fake: a rank was lost\n", &named) ==
        ": a rank was lost: n2 rank 3: never reached rank 0 over TCP");
  CHECK(reason_of_killed(kMpirun, &named).find("n2 rank 3") != std::string::npos);
  // One that names nobody is no reason beside the log.
  const Document unnamed = partial_document(said("run.unfinished"));
  CHECK(reason_of_killed("clusterbench fake: n1 rank 1: broke\n", &unnamed) ==
        ": clusterbench fake: n1 rank 1: broke");
  CHECK(reason_of_killed("", &unnamed).empty());
}

TEST_CASE("a document that names a suspect is the reason of other codes too, behind what broke") {
  const JobLog log("clusterbench fake: a rank was lost\n");
  Document named = naming_n2();
  CHECK(job_exit(ExitCode::runtime, &named, log.tail()).reason ==
        "it ended with code 4: a rank was lost: n2 rank 3: never reached rank 0 over TCP");
  named.records = {{.case_name = "x", .outcome = Errored{"n1", "broke"}}};
  CHECK(job_exit(ExitCode::runtime, &named, log.tail()).reason == "n1: broke");
}

TEST_CASE("of a rank that was killed the log says which where no document does") {
  const std::string lost = "\nclusterbench fake: a rank was lost\n";
  CHECK(reason_of_killed(lost + "  not there : n2 rank 3: gone\n  not there : n2 rank 4: gone\n" +
                         "  waiting   : rank 0 on n1: ended\n  not there : late\n") ==
        ": clusterbench fake: a rank was lost: n2 rank 3: gone; n2 rank 4: gone");
  const std::string by_launcher = ": " + kMpirun.substr(0, kMpirun.size() - 1);
  CHECK(reason_of_killed(lost + "---\n" + kMpirun) == by_launcher);
  CHECK(reason_of_killed("---\nPrimary job ended\n---\n" + kMpirun) == by_launcher);
  CHECK(reason_of_killed("srun: error: n2: task 3: Killed\n") ==
        ": srun: error: n2: task 3: Killed");
  CHECK(reason_of_killed("srun: error: n1: tasks 0-2: Exited with exit code 1\n"
                         "srun: error: n2: task 3: Out Of Memory\n") ==
        ": srun: error: n2: task 3: Out Of Memory");
  CHECK(reason_of_killed("clusterbench fake: n2 rank 3: broke\n" + kMpirun) ==
        ": clusterbench fake: n2 rank 3: broke");
  CHECK(reason_of_killed(lost) == ": clusterbench fake: a rank was lost");
  CHECK(reason_of_killed("process rank 3 is slow\n") == ": process rank 3 is slow");
}

TEST_CASE("of a log of many megabytes the beginning and the end are read") {
  std::string middle;
  while (middle.size() < (5 << 20)) middle += "NCCL INFO something of no matter\n";
  CHECK(reason_of_killed("starts\n" + middle + kMpirun) == reason_of_killed("starts\n" + kMpirun));
  CHECK(reason_of_killed("clusterbench fake: n1 rank 1: broke\n" + middle) ==
        ": clusterbench fake: n1 rank 1: broke");
}

TEST_CASE("where rank 0 is killed, an earlier record does not hide what the others saw") {
  Document document = partial_document(said("run.unfinished"));
  document.records = {{.case_name = "x", .outcome = Errored{"n1", "no room"}}};
  CHECK(reason_of_killed("clusterbench fake: n2 rank 1: rank 0 on n1 is gone: its connection "
                         "broke\n  next: look at n1\n",
                         &document) ==
        ": clusterbench fake: n2 rank 1: rank 0 on n1 is gone: its connection broke");
  CHECK(reason_of_killed("", &document) == ": n1: no room");
}

TEST_CASE("only codes of signals tell of one") {
  const JobLog log("");
  const auto reason = [&](int code) {
    return job_end(TaskEnd::Kind::exited, code, nullptr, log.tail()).reason.text();
  };
  CHECK(reason(128) == "it ended with code 128");
  CHECK(reason(139).find("signal 11") != std::string::npos);
  CHECK(reason(130) == "it was interrupted from outside");
  CHECK(reason(255) == "it ended with code 255");
}

TEST_CASE("the ranks that are not there are told with the line that they stand behind") {
  const JobLog log("clusterbench fake: deadline\n  not there : n2 rank 3: silent\n");
  CHECK(job_exit(ExitCode::deadline, nullptr, log.tail()).reason ==
        "it hung or ran too long: clusterbench fake: deadline: n2 rank 3: silent");
}
