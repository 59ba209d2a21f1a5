#include "sys/os/dl.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

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
