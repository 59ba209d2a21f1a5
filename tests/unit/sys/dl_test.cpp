#include "sys/os/dl.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

#include "core/error.h"
#include "sys/cpu/host_blas.h"
#include "sys/net/umad.h"
#include "sys/storage/cufile.h"

using namespace cb;

TEST_CASE("a library that is missing leaves the next name; a damaged file does not") {
  std::string place = (std::filesystem::temp_directory_path() / "cb-dl-XXXXXX").string();
  REQUIRE(::mkdtemp(place.data()) != nullptr);
  const std::string damaged = place + "/libdamaged.so", missing = place + "/libmissing.so";
  std::string header(64, '\0');  // of this program, and nothing behind it
  std::ifstream("/proc/self/exe").read(header.data(), 64);
  for (const std::string& content : {std::string("no library"), std::string(5000, 'x'), header}) {
    CAPTURE(content.size());
    std::ofstream(damaged) << content;
    CHECK(DynamicLibrary::open("CB_NOT_SET", {missing, "libm.so.6"}).present());
    const auto refused = DynamicLibrary::open("CB_NOT_SET", {damaged, "libm.so.6"});
    CHECK_FALSE(refused.present());
    CHECK(refused.reason().find(damaged) != std::string::npos);
  }
  header[4] = 1;  // ELFCLASS32
  std::ofstream(damaged) << header;
  CHECK(DynamicLibrary::open("CB_NOT_SET", {damaged, "libm.so.6"}).present());
  const std::string absent = ": cannot open shared object file: No such file or directory";
  CHECK(DynamicLibrary::open("CB_NOT_SET", {missing, damaged, "libcb-b.so"}).reason() ==
        missing + absent + "; " + damaged + ": wrong ELF class: ELFCLASS32; libcb-b.so" + absent);
  std::filesystem::remove_all(place);
}

TEST_CASE("names that do not open are told in their order, and a reason they share once") {
  const std::string absent = "cannot open shared object file: No such file or directory";
  const auto reason = [](const std::vector<std::string>& names) {
    return DynamicLibrary::open("CB_NOT_SET", names).reason();
  };
  CHECK(reason({"libcb-a.so"}) == "libcb-a.so: " + absent);
  CHECK(reason({"libcb-b.so", "libcb-a.so"}) == "libcb-b.so, libcb-a.so: " + absent);
  CHECK(reason({"libcb-4.so", "libcb-3.so", "libcb-2.so", "libcb-1.so"}) ==
        "libcb-4.so, libcb-3.so, libcb-2.so, libcb-1.so: " + absent);
  CHECK(reason({"libcb-5.so", "libcb-4.so", "libcb-3.so", "libcb-2.so", "libcb-1.so"}) ==
        "libcb-5.so … libcb-1.so: " + absent);
  CHECK(DynamicLibrary::open("CB_NOT_SET", {"libcb-a.so", "libm.so.6"}).reason().empty());
}

TEST_CASE("the name that a variable gives is the only one that is tried") {
  REQUIRE(::setenv("CB_DL_TEST", "libcb-given.so", 1) == 0);
  const auto given = DynamicLibrary::open("CB_DL_TEST", {"libm.so.6"});
  CHECK(given.reason() ==
        "libcb-given.so: cannot open shared object file: No such file or directory "
        "(CB_DL_TEST is set)");
  ::unsetenv("CB_DL_TEST");
}

TEST_CASE("what is wrong with a file is told in both languages where the words are ours") {
  REQUIRE(::setenv("CB_DL_TEST", "/dev/null", 1) == 0);
  const auto given = DynamicLibrary::open("CB_DL_TEST", {"libm.so.6"});
  ::unsetenv("CB_DL_TEST");
  CHECK(given.reason() == "/dev/null: not a regular file (CB_DL_TEST is set)");
  CHECK(given.why().in(Lang::zh) == "/dev/null：不是普通文件（已设置 CB_DL_TEST）");
}

namespace {

// What `ask` says in Chinese where the variable names a device.
template <typename Ask>
std::string in_chinese(const char* variable, Ask ask) {
  REQUIRE(::setenv(variable, "/dev/null", 1) == 0);
  const Said why = ask();
  ::unsetenv(variable);
  return why.in(Lang::zh);
}

Said why_no_umad() {
  try {
    umad::Port::open(FsRoot(), "", 1);
  } catch (const Error& e) {
    return e.said();
  }
  return "it opens";
}

template <typename Opened>
Said why_absent(const Opened& opened) {
  const auto* absent = std::get_if<host_blas::Absent>(&opened);
  return absent == nullptr ? "it opens" : absent->reason;
}

}  // namespace

TEST_CASE("what cannot be opened says so in Chinese too") {
  const std::string why = "/dev/null：不是普通文件（已设置 ";
  for (const std::string& text :
       {in_chinese("CLUSTERBENCH_OPENBLAS",
                   [] { return why_absent(host_blas::open_openblas("", 1)); }),
        in_chinese("CLUSTERBENCH_BLIS", [] { return why_absent(host_blas::open_blis(1)); }),
        in_chinese("CLUSTERBENCH_ONEDNN", [] { return why_absent(host_blas::open_onednn(1)); }),
        in_chinese("CLUSTERBENCH_CUFILE_LIBRARY", [] { return cufile::why_absent(FsRoot()); }),
        in_chinese("CLUSTERBENCH_UMAD_LIBRARY", why_no_umad)})
    CHECK_MESSAGE(text.find(why) != std::string::npos, text);
}
