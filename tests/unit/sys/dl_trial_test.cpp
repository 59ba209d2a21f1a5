// What is made of a trial's end. Here a shell plays the child; tests/cli/test_doctor.py has the
// program itself and libraries that crash.
#include "sys/os/dl_trial.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <stdlib.h>

#include "core/clock.h"
#include "sys/os/dl.h"

using namespace cb;

namespace {

// Trials by this shell script, which find nothing in the tests behind it.
class ByShell {
 public:
  explicit ByShell(const std::string& script, double seconds = 20) {
    library_trial::begin({"/bin/sh", "-c", script}, seconds);
  }
  ~ByShell() { library_trial::begin({}); }
  ByShell(const ByShell&) = delete;
  ByShell& operator=(const ByShell&) = delete;
};

std::string found(const std::vector<std::string>& names, Lang lang = Lang::en) {
  const auto unsafe = library_trial::first_unsafe(names, RTLD_NOW);
  if (!unsafe) return "";
  CHECK(library_trial::is_unsafe(unsafe->why));
  return unsafe->why.in(lang);
}

// Whether libm opens after what its trial says, and else why not.
std::string libm() {
  const auto opened = DynamicLibrary::open("CB_NOT_SET", {"libm.so.6"});
  return opened.present() ? "opens" : opened.reason();
}

}  // namespace

TEST_CASE("a library that crashes the child is not opened here, and neither is a later name") {
  const ByShell child("printf b >&3; kill -SEGV $$");
  CHECK(libm() == "libm.so.6: a process that opens it crashes (signal 11, Segmentation fault)");
  const auto opened = DynamicLibrary::open("CB_NOT_SET", {"libcb-no.so", "libm.so.6"});
  CHECK(opened.reason() ==
        "libcb-no.so: a process that opens it crashes (signal 11, Segmentation fault)");
  CHECK(found({"libm.so.6"}, Lang::zh) ==
        "libm.so.6：打开它的进程会崩溃（信号 11，Segmentation fault）");
}

TEST_CASE("a library that ends the child, or hangs in it, is not opened here") {
  {
    const ByShell child("printf b >&3; exit 0");
    CHECK(libm() == "libm.so.6: a process that opens it is ended by it, with exit code 0");
  }
  const ByShell child("printf b >&3; exec sleep 60", 2);
  const double start = monotonic_seconds();
  CHECK(libm() == "libm.so.6: it does not open within 2 s");
  CHECK(monotonic_seconds() - start < 20);
}

TEST_CASE("a library that closes the files of its process is not opened here") {
  const ByShell child("printf b >&3; exit 93");
  CHECK(libm() == "libm.so.6: it closes the files of the process that opens it");
}

TEST_CASE("what a library prints is no report") {
  const ByShell child("echo banner; printf b >&3; printf o; exit 3");
  CHECK(libm() == "libm.so.6: a process that opens it is ended by it, with exit code 3");
}

TEST_CASE("the children of a library are not waited for") {
  const ByShell child("printf b >&3; sleep 60 & printf o >&3");
  const double start = monotonic_seconds();
  CHECK(libm() == "opens");
  CHECK(monotonic_seconds() - start < 15);
}

TEST_CASE("a process that a library has started opens none") {
  library_trial::begin({});  // sets this process's own mark
  const std::string own = std::getenv(library_trial::kMarker);
  ::setenv(library_trial::kMarker, "1", 1);
  {
    const ByShell child("printf bo >&3");
    CHECK(libm() == "libm.so.6: not opened in a process that the opening of a library has started");
  }
  ::setenv(library_trial::kMarker, own.c_str(), 1);
  const ByShell child("[ \"$CLUSTERBENCH_LIBRARY_TRIAL\" = " + own + " ] || exit 0; printf b >&3");
  CHECK(libm() == "libm.so.6: a process that opens it is ended by it, with exit code 0");
}

TEST_CASE("which of the names it was is known by those that came back") {
  const ByShell child("printf brr >&3; exit 7");
  CHECK(found({"a", "b", "c"}) == "c: a process that opens it is ended by it, with exit code 7");
  CHECK(found({"a", "b"}).empty());  // all came back
}

TEST_CASE("names that come back are opened here") {
  for (const char* script : {"printf bo >&3", "printf br >&3", "printf bo >&3; kill -SEGV $$"}) {
    CAPTURE(script);
    const ByShell child(script);
    CHECK(libm() == "opens");
  }
  const ByShell child("printf bo >&3; exec sleep 60", 2);  // what the library has started
  CHECK(libm() == "opens");
}

TEST_CASE("a child that does not begin says nothing of a library") {
  for (const char* script : {"exit 127", "kill -KILL $$", "printf x >&3; exit 1"}) {
    CAPTURE(script);
    const ByShell child(script);
    CHECK(libm() == "opens");
  }
  library_trial::begin({"/nowhere/program"});
  CHECK(libm() == "opens");
  library_trial::begin({});
}

TEST_CASE("the same names are asked for once") {
  std::string place = (std::filesystem::temp_directory_path() / "cb-trial-XXXXXX").string();
  REQUIRE(::mkdtemp(place.data()) != nullptr);
  const std::string log = place + "/log";
  const ByShell child("echo \"$@\" >>" + log + "; printf br >&3");
  for (int i = 0; i < 3; ++i) CHECK(found({"a"}).empty());
  CHECK(found({"b"}).empty());
  std::ifstream file(log);
  const std::string asked{std::istreambuf_iterator<char>(file), {}};
  CHECK(asked == "2 a\n2 b\n");
  std::filesystem::remove_all(place);
}

TEST_CASE("a pipe is not tried: the child would wait for a writer") {
  const ByShell child("printf b >&3; exit 3");
  CHECK(DynamicLibrary::open("CB_NOT_SET", {"/dev/null"}).reason() ==
        "/dev/null: not a regular file");
}

TEST_CASE("a finding is known inside of another reason") {
  const Said hangs = said("nvml.not_opened", said("dl.is_set", said("dl.hangs", "x.so", 8), "V"));
  CHECK(library_trial::is_unsafe(hangs));
  CHECK(library_trial::is_slow(hangs));
  const Said crashes = said_list({Said("libcb-no.so: none"), said("dl.crashes", "x.so", 4, "ILL")});
  CHECK(library_trial::is_unsafe(crashes));
  CHECK_FALSE(library_trial::is_slow(crashes));
  CHECK_FALSE(library_trial::is_unsafe(said("dl.not_regular", "x.so")));
  CHECK_FALSE(library_trial::is_unsafe(Said()));
}
