// What of a soak's middle cycles stays in memory.
#include "campaign/quiet_cycles.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

Document cycle(double value) {
  Document out;
  Record r{.case_name = "burn"};
  const size_t gpu = r.entity({"n1", "gpu", "0"});
  Samples samples;
  for (int i = 0; i < 100; ++i) samples.add(value + i);
  r.metrics.push_back({.name = "rate",
                       .unit = "flops",
                       .entity = gpu,
                       .samples = samples,
                       .ceiling = Ceiling{1e15, std::string("a clock of 1.98 GHz, by its sheet")}});
  r.facts["library"] = std::string("cuBLASLt, a name longer than a short string");
  r.telemetry.series.push_back({.name = "power", .unit = "watts", .at = {0, 1}, .values = {1, 2}});
  out.records = {r};
  return out;
}

}  // namespace

TEST_CASE("of the samples the summary stays, with the same figures") {
  Document d = cycle(5);
  const Summary before = d.records[0].metrics[0].samples.summary();
  keep_summaries(d);
  const Samples& after = d.records[0].metrics[0].samples;
  CHECK(after.has_only_summary());
  CHECK(after.count() == 100);
  CHECK(after.summary().median == before.median);
  CHECK(after.summary().p99 == before.p99);
  CHECK(after.summary().ci95 == before.ci95);
}

TEST_CASE("time lines go, and nothing else") {
  Document d = cycle(5);
  drop_time_lines(d);
  CHECK(d.records[0].telemetry.series.empty());
  CHECK(d.records[0].metrics[0].samples.list().size() == 100);
}

TEST_CASE("documents share equal sentences, and say the same as before") {
  TextPool pool;
  Document a = cycle(5), b = cycle(6);
  b.records[0].notes.emplace_back("only here");
  pool.share(a);
  pool.share(b);
  const auto how = [](const Document& d) { return &d.records[0].metrics[0].ceiling->how.text(); };
  CHECK(how(a) == how(b));
  CHECK(*how(a) == "a clock of 1.98 GHz, by its sheet");
  CHECK(&a.records[0].facts.at("library").text() == &b.records[0].facts.at("library").text());
  CHECK(b.records[0].notes[0] == "only here");
}

TEST_CASE("one English text of two sentences stays two") {
  TextPool pool;
  Document d = cycle(5);
  d.records[0].notes = {Said("same", Message("a.b")), Said("same", Message("c.d"))};
  pool.share(d);
  CHECK(d.records[0].notes[0].message().id == "a.b");
  CHECK(d.records[0].notes[1].message().id == "c.d");
}
