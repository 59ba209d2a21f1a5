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
  std::filesystem::remove_all(place);
}
