#include "core/text.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/sha256.h"
#include "core/suggest.h"

using namespace cb;

TEST_CASE("nothing that steers a terminal passes") {
  CHECK(terminal_safe("node07") == "node07");
  CHECK(terminal_safe("a\nb\tc") == "a b c");
  CHECK(terminal_safe("\033[31mred\r\a") == "?[31mred??");  // C0
  CHECK(terminal_safe("x\x7fy\xc2\x9by") == "x?y?y");       // DEL, C1 CSI
  CHECK(terminal_safe("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"
                      "c") == "a?b?c");                          // bidi override, isolate
  CHECK(terminal_safe("\xef\xbb\xbfx\xe2\x80\xa8y") == "?x?y");  // BOM, line separator
  CHECK(terminal_safe("µs → 验收 ✓") == "µs → 验收 ✓");
}

TEST_CASE("nothing invisible and no number that is no character passes; its neighbours do") {
  for (const char* hidden : {"\u200B", "\u00AD", "\u2060", "\u2064", "\u180E", "\u200E", "\u206F",
                             "\uFFF9", "\uFDD0", "\uFDEF", "\uFFFE", "\uFFFF", "\U0001FFFE",
                             "\U0010FFFF", "\U000E0000", "\U000E0041", "\U000E007F", "\u0080"})
    CHECK(terminal_safe(std::string("a") + hidden + "z") == "a?z");
  for (const char* plain :
       {"\u00AC", "\u00AE", "\u200A", "\u200C", "\u2027", "\u205F", "\u2070", "\uFDCF", "\uFDF0",
        "\uFFFD", "\uFFF8", "\U0001FFFD", "\U000E0080", "\u00A0", "~"})
    CHECK(terminal_safe(plain) == plain);
}

TEST_CASE("a JSON text shows what is hidden in it and keeps its value") {
  CHECK(json_safe("{\n \"a\": \"\u202Eb\u2066 验\"}") == "{\n \"a\": \"\\u202eb\\u2066 验\"}");
  CHECK(json_safe("\"\U000E0041\"") == "\"\\udb40\\udc41\"");
  CHECK(json_safe("\"a\\n\xff\"") == "\"a\\n\xff\"");
}

TEST_CASE("invalid UTF-8 becomes question marks") {
  CHECK(terminal_safe("a\xffz") == "a?z");
  CHECK(terminal_safe("\xc0\xaf") == "??");            // overlong
  CHECK(terminal_safe("\xe0\x80\x80") == "???");       // overlong
  CHECK(terminal_safe("\xed\xa0\x80") == "???");       // surrogate
  CHECK(terminal_safe("\xf4\x90\x80\x80") == "????");  // beyond U+10FFFF
  CHECK(terminal_safe("\xe9\xaa") == "??");            // cut short
  CHECK(terminal_safe("\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");
}

TEST_CASE("width counts columns") {
  CHECK(display_width("") == 0);
  CHECK(display_width("µs") == 2);
  CHECK(display_width("验收") == 4);
  CHECK(display_width("e\xcc\x81") == 1);         // combining accent
  CHECK(display_width("\xf0\x9f\x98\x80") == 2);  // emoji
  CHECK(pad_right("验", 4) == "验  ");
  CHECK(pad_left("µ", 3) == "  µ");
  CHECK(pad_left("long", 2) == "long");
}

TEST_CASE("a table aligns its columns and leaves no trailing space") {
  CHECK(text_table({{"name", "n"}, {"验", "10"}, {"abcdef", "7"}, {"x"}}, {false, true}) ==
        "name     n\n验      10\nabcdef   7\nx\n");
  CHECK(text_table({}, {}).empty());
}

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("size", "sise") == 1);
  CHECK(edit_distance("size", "szie") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  // No swap where only one letter, or none, stands in the other's place.
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("ab", "cd") == 2);
  CHECK(edit_distance("ab", "ca") == 2);
  CHECK(edit_distance("ab", "bc") == 2);
  CHECK(edit_distance("ab", "b") == 1);
  CHECK(edit_distance("b", "ab") == 1);
}

TEST_CASE("the nearest name is suggested, and nothing where none is near") {
  const std::vector<std::string> dtypes{"fp64", "fp32", "bf16"};
  CHECK(nearest("fp61", dtypes) == "fp64");
  CHECK(nearest("FP32", dtypes) == "fp32");
  CHECK_FALSE(nearest("double", dtypes).has_value());
  CHECK_FALSE(nearest("", dtypes).has_value());
  CHECK_FALSE(nearest("x", {}).has_value());
  CHECK_FALSE(nearest(std::string(100000, 'a'), {std::string(100000, 'b')}).has_value());
  CHECK(unknown_name("fp61", dtypes) == "fp61 is not known, did you mean fp64? (fp64 fp32 bf16)");
  CHECK(unknown_name("double", dtypes) == "double is not known (fp64 fp32 bf16)");
  CHECK(unknown_name("", dtypes) == "an empty value is not known (fp64 fp32 bf16)");
  std::vector<std::string> many;
  for (int i = 0; i < 41; ++i) many.push_back("name" + std::to_string(i));
  CHECK(unknown_name("q", many) == "q is not known");  // a list so long helps nobody
  CHECK(unknown_name("q", std::vector<std::string>(25, "name")) == "q is not known (name)");
  CHECK(unknown_name(std::string(1000, 'a'), {}).size() < 300);
}

TEST_CASE("problems are listed under their subject, aligned and harmless") {
  Problems problems;
  problems.add("--sise", "unknown option, did you mean --size?");
  problems.add("--dtype", "fp61 is not known");
  problems.add("", "a\033[2Jb\nc");
  const UsageError e("clusterbench gemm", problems);
  CHECK(std::string(e.what()) ==
        "clusterbench gemm: 3 problems\n"
        "  --sise   unknown option, did you mean --size?\n"
        "  --dtype  fp61 is not known\n"
        "  a?[2Jb c");
  CHECK(e.code() == ExitCode::usage);
  CHECK(e.problems().list.size() == 3);
  CHECK(std::string(UsageError("f.json", "x", "is bad").what()) ==
        "f.json: 1 problem\n  x  is bad");
}

TEST_CASE("sha256 gives the digests of FIPS 180-4") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.update(piece);
  CHECK(pieces.hex() == sha256_hex("abc"));
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("which characters take two columns and which none, at the ends of their ranges") {
  for (const char* wide :
       {"\u1100",     "\u115F",     "\u2E80",     "\uA4CF",     "\uAC00",     "\uD7A3",    "\uF900",
        "\uFAFF",     "\uFE30",     "\uFE6F",     "\uFF01",     "\uFF60",     "\uFFE0",    "\uFFE6",
        "\U0001F300", "\U0001F64F", "\U0001F900", "\U0001F9FF", "\U00020000", "\U0003FFFD"})
    CHECK_MESSAGE(display_width(wide) == 2, wide);
  for (const char* one :
       {"\u10FF",     "\u1160",     "\u2E7F",     "\uA4D0",     "\uABFF", "\uD7A4", "\uF8FF",
        "\uFB00",     "\uFE2F",     "\uFE70",     "\uFF61",     "\uFFDF", "\uFFE7", "\U0001F2FF",
        "\U0001F650", "\U0001F8FF", "\U0001FA00", "\U0001FFFF", "\u02FF", "\u0370", "\u200A",
        "\u200E",     "\uFDFF",     "\uFE10",     "\xff",       "a"})
    CHECK_MESSAGE(display_width(one) == 1, one);
  for (const char* none : {"\u0300", "\u036F", "\u200B", "\u200D", "\uFE00", "\uFE0F"})
    CHECK_MESSAGE(display_width(none) == 0, none);
}

TEST_CASE("what UTF-8 can hold, from both sides") {
  for (const char* whole : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                            "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", ""})
    CHECK_MESSAGE(is_utf8(whole), whole);
  for (const char* broken : {"\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xe0\x9f\xbf",
                             "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                             "\xf5\x80\x80\x80", "\xe9\xaa", "\xf0\x9f\x98"})
    CHECK_FALSE_MESSAGE(is_utf8(broken), broken);
}

TEST_CASE("a text of nothing visible is blank") {
  for (const char* blank : {"", " ", "\t\n", "\u00A0\u3000", "\u2003 ", "\u200B"})
    CHECK_MESSAGE(is_blank(blank), blank);
  for (const char* text : {"a", " a", "a ", "验"}) CHECK_FALSE_MESSAGE(is_blank(text), text);
}
