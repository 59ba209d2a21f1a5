#include "core/messages/said.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/messages/texts.h"

using namespace cb;

TEST_CASE("a sentence is English text that knows its id, in Chinese with all that stands in it") {
  const Said why = said("said.of", "n1", said("fault.injected", "hang"));
  CHECK(why.text() == "n1: a fault was injected on purpose: hang");
  CHECK(why.in(Lang::en) == why.text());
  CHECK(why.in(Lang::zh) == "n1：按设定注入故障：hang");
  CHECK(why.message().id == "said.of");
  CHECK_THROWS_AS(said("no.such_sentence"), Error);
  CHECK_THROWS_AS(said("said.of", "one argument of two"), Error);
}

TEST_CASE("numbers are told from text: counts, and figures with their unit") {
  CHECK(said_count("io.bits_differ", 1, "x").text() == "1 bit differs: x");
  CHECK(said_count("io.bits_differ", 2, "x").text() == "2 bits differ: x");
  const Said rate = said("coll.per_gpu", Quantity{4.5e11, "bytes_per_second"});
  CHECK(rate.text() == "450 GB/s per GPU in a direction");
  CHECK(rate.message().args[0].quantity()->value == 4.5e11);
}

TEST_CASE("a text of no table is the same in every language") {
  const Said foreign = "libfoo.so: cannot open shared object file";
  CHECK(foreign.in(Lang::zh) == foreign.text());
  CHECK(said("said.of", "n1", foreign).in(Lang::zh) == "n1：" + foreign.text());
  CHECK(Said().empty());
}

TEST_CASE("a sentence of another version is shown in the English that was written with it") {
  const Said newer("some text", Message("of.the_future", {"1"}));
  CHECK(newer.in(Lang::zh) == "some text");
  const Said fewer("n1: text", Message("said.of", {"n1"}));
  CHECK(fewer.in(Lang::zh) == "n1: text");
  const Said inner("n1: text", Message("said.of", {"n1", Arg::of_document(newer.message())}));
  CHECK(inner.in(Lang::zh) == "n1: text");
}

TEST_CASE("clauses and names are put together one after the other") {
  CHECK(said_list({}).empty());
  CHECK(said_list({said("fake.failed")}).text() == "fails as it was told");
  CHECK(said_list({said("fake.failed"), "b", "c"}).in(Lang::zh) == "按设定失败；b；c");
  CHECK(said_names({"a", "b"}).text() == "a, b");
  // However many there are, they do not stand in each other.
  Said all;
  for (int i = 0; i < 100; ++i) all = said_list({all.empty() ? "0" : all, std::to_string(i)});
  CHECK(all.message().args.size() == 101);
}

TEST_CASE("a sentence comes through a channel of texts as it is, and so does any text") {
  const Said why = said("said.of", "n1", said("io.not_free.one", 1, "/data", "1 MiB", "2 MiB"));
  const Said back = unpack_said(pack_said(why));
  CHECK(back.text() == why.text());
  CHECK(back.in(Lang::zh) == why.in(Lang::zh));
  for (const char* text : {"", "plain", "a\nb", "\x1e{", "x\x1e{\"id\": 1}", "\xff"}) {
    CHECK(unpack_said(pack_said(text)).message().id.empty());
    CHECK_NOTHROW(unpack_said(text));
  }
}

TEST_CASE("an exception of ours keeps its sentence") {
  const Error error(said("fake.failed"), ExitCode::deadline);
  CHECK(std::string(error.what()) == "fails as it was told");
  CHECK(said_by(error).in(Lang::zh) == "按设定失败");
  CHECK(said_by(std::runtime_error("x")) == "x");
}
