#include "cli/note_lines.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("a note stands once, with the labels of the records that have it") {
  const Said slow("n1: slow"), steady("n1: steady"), odd("n1: odd\x1b[2J");
  CHECK(note_lines({{0, "bf16", slow}, {1, "fp16", slow}, {1, "fp16", steady}}, 2) ==
        "  n1: slow\n  fp16: n1: steady\n");
  CHECK(note_lines({{0, "bf16", slow}, {2, "fp64", slow}}, 3) == "  bf16, fp64: n1: slow\n");
  CHECK(note_lines({{0, "", slow}, {1, "", steady}}, 2) == "  n1: slow\n  n1: steady\n");
  CHECK(note_lines({{0, "a", odd}}, 1).find('\x1b') == std::string::npos);
  std::vector<LabelledNote> many;
  for (size_t i = 0; i < 4; ++i)
    many.push_back({i, std::string(1, static_cast<char>('a' + i)), slow});
  CHECK(note_lines(many, 6) == "  a, b, c, d: n1: slow\n");
  many.push_back({4, "e", slow});
  CHECK(note_lines(many, 6) == "  a, b, c and 2 more: n1: slow\n");
  CHECK(note_lines(many, 5) == "  n1: slow\n");
  CHECK(note_lines({}, 3).empty());
}

TEST_CASE("looks at a GPU are added up over the records, each part's by itself") {
  CHECK(note_lines({{0, "bf16", said("gpu.at_limit", "n1:0", 17, 17)},
                    {1, "fp16", said("gpu.at_limit", "n1:0", 3, 4)},
                    {1, "fp16", said("gpu.at_limit", "n1:1", 1, 4)},
                    {2, "fp64", said("gpu.throttled", "n1:0", 2, 5)}},
                   3) ==
        "  bf16, fp16: n1:0 was at its power limit in 20 of 21 looks: normal under full load\n"
        "  fp64: n1:0 was throttled in 2 of 5 looks (heat, hardware slowdown or power brake)\n"
        "  fp16: n1:1 was at its power limit in 1 of 4 looks: normal under full load\n");
}

TEST_CASE("a cause of several records is one line with their number") {
  CHECK(each_once({"skipped: a", "b", "skipped: a", "skipped: a"}) ==
        std::vector<std::string>{"skipped: a (3 records)", "b"});
  CHECK(each_once({}).empty());
}
