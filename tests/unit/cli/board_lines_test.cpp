// Lines that are drawn over themselves on terminals of any size.
#include "cli/board_lines.h"

#include <cstdlib>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/text.h"

using namespace cb;

TEST_CASE("a line is cut to the columns that it may take") {
  CHECK(cut_to_width("abcdef", 6) == "abcdef");
  CHECK(cut_to_width("abcdef", 5) == "abcd…");
  CHECK(cut_to_width("abcdef", 1) == "…");
  CHECK(cut_to_width("abcdef", 0).empty());
  // A wide character that would stand half beyond the edge is left out.
  CHECK(cut_to_width("内存带宽", 8) == "内存带宽");
  CHECK(cut_to_width("内存带宽", 7) == "内存带…");
  CHECK(cut_to_width("内存带宽", 6) == "内存…");
  for (size_t columns = 1; columns < 12; ++columns)
    CHECK(display_width(cut_to_width("a内b存c带d宽 … ✓", columns)) <= columns);
}

TEST_CASE("a board leaves the last column and the last row free") {
  const std::vector<std::string> lines{"aaaaaaaaaa", "b", "c", "d"};
  CHECK(fit_lines(lines, {10, 24})[0] == "aaaaaaaa…");
  CHECK(fit_lines(lines, {11, 24})[0] == "aaaaaaaaaa");
  CHECK(fit_lines(lines, {80, 3}).size() == 2);
  CHECK(fit_lines(lines, {80, 1}).size() == 1);
  CHECK(fit_lines(lines, {1, 24})[1] == "b");
}

TEST_CASE("lines that a narrower terminal has broken are taken off whole") {
  CHECK(rows_of({79, 10}, 80) == 2);
  CHECK(rows_of({79, 10}, 40) == 3);
  CHECK(rows_of({79, 10}, 20) == 5);
  CHECK(rows_of({0, 3}, 80) == 2);
}

TEST_CASE("nothing is drawn where there is no terminal") {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  CHECK_FALSE(can_draw(file));
  CHECK(terminal_size(file).columns == 80);
  ::close(file);
}
