// Documents that are not as they were written.
#include "campaign/lost.h"

#include <doctest/doctest.h>

#include "core/sha256.h"

using namespace cb;

TEST_CASE("a file whose line ends were changed says so, any other change is one") {
  const std::string sum = sha256_hex("{\n}\n");
  CHECK_FALSE(change_of("{\n}\n", sum));
  CHECK(change_of("{\r\n}\r\n", sum)->text().find("line ends") != std::string::npos);
  CHECK(change_of("{\n}\r\n", sum)->text().find("line ends") != std::string::npos);
  CHECK(change_of("{\r\n}\n", sum)->text().find("line ends") != std::string::npos);
  for (const char* other : {"{\r}\n", "{\n}\n\r", "{\n}", "", "{\n}\n ", "\r{\n}\n"})
    CHECK(change_of(other, sum) == "was changed after the run");
}

TEST_CASE("measuring again stands only for what spoke against nothing") {
  JobEvent e;
  CHECK(is_replaceable(e));
  e.unmet = 1;
  CHECK_FALSE(is_replaceable(e));
  for (BadNews bad : {BadNews{1, 0, 0}, BadNews{0, 1, 0}, BadNews{0, 0, 1}}) {
    e = {};
    e.bad = bad;
    CHECK_FALSE(is_replaceable(e));
    CHECK(lost_reason(e, "is gone").text().find("measuring again does not stand for it") !=
          std::string::npos);
  }
  CHECK(lost_reason({}, "is gone").text().find("repeat the job") != std::string::npos);
}
