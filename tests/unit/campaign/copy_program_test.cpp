#include "campaign/copy_program.h"

#include <cstdlib>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

// Runs the words on this host; the host "dead" is not reached.
constexpr const char* kStandIn = R"sh(#!/bin/sh
while [ "$1" != sh ]; do
  [ "$1" = dead:1 ] && exit 255
  shift
done
exec "$@"
)sh";

// The mpirun of Open MPI 5: what it reads before the last message has arrived is lost, all but the
// last 4096 bytes, and the program is not told of the end.
constexpr const char* kLosesInput = R"py(#!/usr/bin/python3
import os, select, subprocess, sys, time
words = sys.argv[sys.argv.index("sh"):]
with subprocess.Popen(words, stdin=subprocess.PIPE) as job:
    while job.poll() is None:
        time.sleep(0.005)
        if select.select([0], [], [], 0.05)[0] and (data := os.read(0, 1 << 20)):
            job.stdin.write(data[-4096:])
            job.stdin.flush()
sys.exit(job.returncode)
)py";

// Three hosts that share two places, and a launcher that reaches two of them.
struct CopyFolder {
  CopyFolder() {
    std::string pattern = fs::temp_directory_path() / "cb-copy-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    top = pattern;
    for (const char* folder : {"bin", "c/logs", "first", "second"})
      fs::create_directories(top / folder);
    write("bin/mpirun", kStandIn);
    write("program", "#!/bin/sh\n[ \"$1\" = --version ]\n");
    write("module.so", std::string(100'000, 'm'));
    old_path = std::getenv("PATH");
    ::setenv("PATH", (top.string() + "/bin:" + old_path).c_str(), 1);
    setup = {.launch = {.launcher = Launcher::mpirun},
             .hosts = {{"n1", 1}, {"n2", 1}, {"dead", 1}},
             .executor = {},
             .id = "0123456789abcdef",
             .logs = top / "c/logs",
             .program = top / "program",
             .beside = {top / "module.so"},
             .places = {top / "first", top / "second"}};
  }
  ~CopyFolder() {
    ::setenv("PATH", old_path.c_str(), 1);
    fs::remove_all(top);
  }
  CopyFolder(const CopyFolder&) = delete;
  CopyFolder& operator=(const CopyFolder&) = delete;

  void write(const char* name, const std::string& text) const {
    std::ofstream(top / name, std::ios::binary) << text;
    ::chmod((top / name).c_str(), 0755);
  }
  CopyEnd copy() const {
    return copy_program(setup, [](const std::string&) {});
  }
  fs::path folder(const char* place) const { return top / place / ("clusterbench-" + setup.id); }
  bool empty(const char* place) const { return fs::is_empty(top / place); }

  fs::path top;
  std::string old_path;
  CopySetup setup;
};

}  // namespace

TEST_CASE("the program and what lies beside it come to every host that answers, and go again") {
  const CopyFolder f;
  const CopyEnd end = f.copy();
  CHECK(end.program == (f.folder("first") / "clusterbench").string());
  CHECK(end.hosts == std::vector<std::string>{"n1", "n2"});
  REQUIRE(end.refusals.size() == 1);
  CHECK(end.refusals[0].host == "dead");
  CHECK(end.refusals[0].why == "the launcher ended with code 255: see logs/copy.err");
  CHECK(read_file(end.program) == read_file(f.setup.program));
  CHECK(read_file(f.folder("first") / "module.so") == std::string(100'000, 'm'));
  CHECK((fs::status(f.folder("first")).permissions() & fs::perms::mask) == fs::perms::owner_all);
  CHECK(f.empty("second"));
  CHECK(!fs::exists(f.top / "c/copy.payload.partial"));
  CHECK(remove_copies(f.setup, end).empty());
  CHECK(f.empty("first"));
}

TEST_CASE("a folder of the same name that the campaign has not made is left alone") {
  const CopyFolder f;
  const auto theirs = f.folder("first") / "theirs";
  SUBCASE("without its marker") { fs::create_directories(f.folder("first")); }
  SUBCASE("with the marker of another") {
    fs::create_directories(f.folder("first"));
    std::ofstream(f.folder("first") / ".clusterbench-copy") << "fedcba9876543210\n";
  }
  SUBCASE("a link to one of ours") {
    fs::create_directories(f.top / "elsewhere");
    std::ofstream(f.top / "elsewhere/.clusterbench-copy") << f.setup.id << '\n';
    fs::create_directory_symlink(f.top / "elsewhere", f.folder("first"));
  }
  std::ofstream(theirs) << "theirs";
  const CopyEnd end = f.copy();
  CHECK(end.program == (f.folder("second") / "clusterbench").string());
  REQUIRE(end.refusals.size() == 3);
  CHECK(end.refusals[0].why == "a folder of that name is there, and this campaign has not made it");
  CHECK(read_file(theirs) == "theirs");
  CHECK(remove_copies(f.setup, end).empty());
  CHECK(f.empty("second"));
}

TEST_CASE("what a killed run left is used and removed, files of others stay") {
  const CopyFolder f;
  const CopyEnd killed = f.copy();
  std::ofstream(f.folder("first") / "clusterbench") << "torn";
  const CopyEnd end = f.copy();
  CHECK(end.program == killed.program);
  CHECK(read_file(end.program) == read_file(f.setup.program));
  const auto theirs = f.folder("first") / "theirs";
  std::ofstream(theirs) << "theirs";
  CHECK(remove_copies(f.setup, end) == std::vector<std::string>{"n1", "n2"});
  CHECK(read_file(theirs) == "theirs");
  CHECK(!fs::exists(end.program));
}

TEST_CASE("a host that cannot use any place is named with the reason, and nothing is left") {
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  std::string why;
  SUBCASE("the program does not start there") {
    f.write("program", "#!/bin/sh\nexit 1\n");
    why = "the program does not start there: another architecture, or a libc older than 2.28";
  }
  SUBCASE("there is no such place") {
    f.setup.places = {f.top / "none", f.top / "none either"};
    why = "no folder can be made there";
  }
  const CopyEnd end = f.copy();
  CHECK(end.program.empty());
  CHECK(end.hosts.empty());
  REQUIRE(end.refusals.size() == 2);
  CHECK(end.refusals[0].why == why);
  CHECK(end.refusals[1].why == why);
  CHECK(f.empty("first"));
  CHECK(f.empty("second"));
  CHECK(remove_copies(f.setup, end).empty());
}

TEST_CASE("a launcher that loses what it reads ahead brings pieces that are asked for") {
  CopyFolder f;
  f.write("bin/mpirun", kLosesInput);
  f.setup.hosts = {{"n1", 1}, {"n2", 1}};
  f.setup.piece = 4096;
  const CopyEnd end = f.copy();
  CHECK(end.refusals.empty());
  CHECK(end.hosts == std::vector<std::string>{"n1", "n2"});
  CHECK(read_file(f.folder("first") / "module.so") == std::string(100'000, 'm'));
  CHECK(read_file(f.setup.logs / "copy.out").find("clusterbench-next-piece") == std::string::npos);
  CHECK(remove_copies(f.setup, end).empty());
  CHECK(f.empty("first"));
}

TEST_CASE("files that were cut or changed on their way are refused with that reason") {
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  f.setup.places = {f.top / "first"};
  std::string why = "the launcher brought a part of the files alone";
  SUBCASE("cut, all at once") {
    f.write("bin/mpirun",
            "#!/bin/sh\nwhile [ \"$1\" != sh ]; do shift; done\nhead -c 5000 | \"$@\"\n");
  }
  SUBCASE("cut, in pieces") {
    f.setup.piece = 4096;
    f.write("bin/mpirun",
            "#!/bin/sh\nwhile [ \"$1\" != sh ]; do shift; done\nhead -c 5000 | \"$@\"\n");
  }
  SUBCASE("changed, in pieces") {
    f.setup.piece = 4096;
    f.write("bin/mpirun",
            "#!/bin/sh\nwhile [ \"$1\" != sh ]; do shift; done\nstdbuf -i0 -o0 tr m n | \"$@\"\n");
    why = "a file arrived damaged";
  }
  const CopyEnd end = f.copy();
  CHECK(end.hosts.empty());
  REQUIRE(end.refusals.size() == 1);
  CHECK(end.refusals[0].why == why);
  CHECK(f.empty("first"));
}

TEST_CASE("a host that dies while mpirun of Open MPI 5 ends with 0 has no copy") {
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  f.setup.places = {f.top / "first"};
  std::string why =
      "the launcher ended as if all were well, but the host did not say that it has the files: see "
      "logs/copy.err; next: remove " +
      f.folder("first").string() + " there, if it is there";
  SUBCASE("before it begins") { f.write("bin/mpirun", "#!/bin/sh\nexit 0\n"); }
  SUBCASE("behind the first piece") {
    f.setup.piece = 4096;
    f.write("bin/mpirun",
            "#!/bin/sh\necho clusterbench-next-piece\nhead -c 4096 >/dev/null\nexit 0\n");
  }
  const CopyEnd end = f.copy();
  CHECK(end.hosts.empty());
  CHECK(end.program.empty());
  REQUIRE(end.refusals.size() == 1);
  CHECK(end.refusals[0].why == why);
}

TEST_CASE("a launcher that prints what it starts asks for no piece and has no copy") {
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  f.setup.piece = 4096;
  SUBCASE("and runs it") {
    f.write("bin/mpirun", std::string("#!/bin/sh\necho \"$*\"\n") + kStandIn);
    CHECK(f.copy().hosts == std::vector<std::string>{"n1"});
    CHECK(read_file(f.folder("first") / "module.so") == std::string(100'000, 'm'));
  }
  SUBCASE("and does not") {
    f.write("bin/mpirun", "#!/bin/sh\necho \"$*\"\n");
    CHECK(f.copy().hosts.empty());
  }
}

TEST_CASE("a copy that was interrupted leaves nothing") {
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  f.write("program", "#!/bin/sh\nsleep 20\n");
  const fs::path arrived = f.folder("first") / "clusterbench";
  f.setup.executor.stop_signals = [arrived] { return fs::exists(arrived) ? 1 : 0; };
  const CopyEnd end = f.copy();
  CHECK(end.hosts.empty());
  REQUIRE(end.refusals.size() == 1);
  CHECK(end.refusals[0].why == "it was interrupted");
  CHECK(f.empty("first"));
  CHECK(f.empty("second"));
}

TEST_CASE("a folder that cannot be written any more is told, and another place is tried") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root, which becomes another user");
    return;
  }
  constexpr uid_t kNobody = 65534;
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  f.write("bin/mpirun",
          "#!/bin/sh\nwhile [ \"$1\" != sh ]; do shift; done\n"
          "exec setpriv --reuid=65534 --clear-groups \"$@\"\n");
  ::chmod(f.top.c_str(), 0755);
  ::chmod((f.top / "second").c_str(), 0777);
  fs::create_directories(f.folder("first"));
  std::ofstream(f.folder("first") / ".clusterbench-copy") << f.setup.id << "\n";
  for (const fs::path& path : {f.folder("first"), f.folder("first") / ".clusterbench-copy"})
    REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
  ::chmod(f.folder("first").c_str(), 0500);
  const CopyEnd end = f.copy();
  CHECK(end.program == (f.folder("second") / "clusterbench").string());
  REQUIRE(end.refusals.size() == 1);
  CHECK(end.refusals[0].why == "the files do not fit");
}

TEST_CASE("a copy is removed when its host says so, not when the launcher ends with 0") {
  CopyFolder f;
  f.setup.hosts = {{"n1", 1}};
  const CopyEnd end = f.copy();
  REQUIRE(end.hosts.size() == 1);
  f.write("bin/mpirun", "#!/bin/sh\nexit 0\n");
  CHECK(remove_copies(f.setup, end) == std::vector<std::string>{"n1"});
  CHECK(fs::exists(end.program));
}
