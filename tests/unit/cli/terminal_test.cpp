// What a terminal shows, byte for byte. CLUSTERBENCH_REGENERATE=1 writes the files anew.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/registry.h"
#include "cli/doctor_checks.h"
#include "cli/gate_cmd_lines.h"
#include "cli/info_table.h"
#include "cli/measure_table.h"
#include "cli/pair_matrix.h"
#include "cli/sweep_table.h"
#include "core/file.h"
#include "tests/unit/report/example_campaign.h"

using namespace cb;

namespace {

std::filesystem::path source() {
  const char* dir = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(dir != nullptr, "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  return dir;
}

void compare(const std::string& name, const std::string& text) {
  const std::filesystem::path golden = source() / "tests/golden/terminal" / (name + ".txt");
  const char* regenerate = std::getenv("CLUSTERBENCH_REGENERATE");
  if (regenerate != nullptr && std::string(regenerate) == "1") write_file_atomically(golden, text);
  const bool same = read_file(golden) == text;
  CHECK_MESSAGE(same, name, " differs from what is printed: look at it, then regenerate");
}

Document example_document(const std::string& name) {
  const std::filesystem::path file = source() / "tests/data/campaign-v1/records" / (name + ".json");
  return parse_document(read_file(file), file.string());
}

std::string table_of(const Document& document) {
  const CaseInfo* info = nullptr;
  for (const Case& c : all_cases()) {
    const Record& record = document.records.front();
    const bool has_device = record.params.has("device");
    const std::string device = has_device ? record.params.text("device") : "";
    if (c.info.name == record.case_name && (device.empty() || c.info.device == device))
      info = &c.info;
  }
  REQUIRE(info != nullptr);
  return measure_table(document, *info);
}

// Two hosts, one of which failed a check and has a name in Chinese; a third was skipped.
Document troubled() {
  Document out;
  Record measured{.case_name = "bandwidth"};
  measured.params.set("size", int64_t{1} << 30);
  measured.metrics.push_back({.name = "bytes_per_second",
                              .unit = "bytes_per_second",
                              .entity = measured.entity({"node01", "host", ""}),
                              .samples = {100e9, 101e9, 99e9},
                              .ceiling = Ceiling{200e9, "8 channels"}});
  const size_t wrong = measured.entity({"节点02", "host", ""});
  measured.checks.push_back({.name = "data",
                             .passed = false,
                             .entity = wrong,
                             .detail = "3 of 1024 elements differ, the first at 7"});
  measured.notes.push_back("node01: the clock was not steady");
  Record skipped{.case_name = "bandwidth"};
  skipped.outcome = Skipped{"node03: no memory\x1b[2J"};
  out.run.hosts = {"node01", "节点02", "node03"};
  out.run.ranks = 3;
  out.records = {measured, skipped};
  return out;
}

// Four GPUs, each to each; the copy from 2 to 3 is slow, that from 0 to 0 does not exist.
Record pairs() {
  Record out{.case_name = "bandwidth"};
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const size_t entity =
          out.entity({"node01", "pair", std::to_string(from), "node01:" + std::to_string(to)});
      out.metrics.push_back({.name = "peer_bytes_per_second",
                             .unit = "bytes_per_second",
                             .entity = entity,
                             .samples = {from == 2 && to == 3 ? 40e9 : 380e9}});
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the table at the end of each measurement of the example") {
  for (const char* name : {"002-gemm-fp64", "004-triad", "005-all-reduce", "006-pingpong",
                           "007-randread", "008-write", "009-burn"})
    compare(std::string("measure.") + name, table_of(example_document(name)));
}

TEST_CASE("a failed check, a skipped record and a name in Chinese in a table") {
  const Document document = troubled();
  const Case bandwidth = *find_case("bandwidth", "cpu");
  compare("measure.troubled", measure_table(document, bandwidth.info));
}

TEST_CASE("a note of one measured and one failed record says which, where a third has none") {
  Document document;
  for (const int64_t size : {1, 2, 3}) {
    Record record{.case_name = "bandwidth"};
    record.params.set("size", size << 30);
    if (size != 2) record.notes.push_back("node01: the clock was not steady");
    if (size == 3) record.outcome = Errored{"node01 rank 0", "no memory"};
    document.records.push_back(record);
  }
  CHECK(measure_table(document, find_case("bandwidth", "cpu")->info)
            .ends_with("  1G, 3G: node01: the clock was not steady\n"));
}

TEST_CASE("what a host consists of") {
  compare("info", info_table(example_document("001-info").hosts));
}

TEST_CASE("the lines of gate, with and without colour") {
  const example::Case c = example::mixed();
  const Judgement judgement = example::judgement_of(c);
  for (const bool color : {false, true})
    compare(color ? "gate.color" : "gate",
            gate_lines(judgement, color) + verdict_line(judgement, color) + "\n");
}

TEST_CASE("the result of a sweep") {
  SweepPoint told, open;
  told.params.set("size", int64_t{64} << 20);
  told.ranked = {{.combination = 1, .median = 350e9, .jobs = 5},
                 {.combination = 0, .median = 300e9, .jobs = 5, .p = 0.01}};
  told.verdict = SweepVerdict::best;
  told.control = 0.01;
  told.smallest = 0.03;
  open.params.set("size", int64_t{1} << 30);
  open.ranked = {{.combination = 0, .median = 401e9, .jobs = 5},
                 {.combination = 1, .median = 400e9, .jobs = 5, .p = 0.8}};
  open.verdict = SweepVerdict::no_difference;
  const MetricDef metric{"bus_bytes_per_second", "bytes_per_second", Better::higher, ""};
  compare("sweep", sweep_table({told, open}, {"NCCL_ALGO=Ring", "NCCL_ALGO=Tree"}, metric));
}

TEST_CASE("GPUs, each to each") { compare("pair_matrix", pair_matrix(pairs())); }

TEST_CASE("what doctor says of a container with little, in both languages") {
  const DoctorFacts facts{.host = "node01",
                          .shm_bytes = 64.0 * (1 << 20),
                          .memlock_bytes = 8.0 * (1 << 20),
                          .rdma_devices = 8,
                          .gpus = 8,
                          .nvml_library = true,
                          .nccl = {.reason = "NCCL cannot be opened: libnccl.so.2: cannot open "
                                             "shared object file"},
                          .cublaslt = {.reason = "cuBLASLt does not open: libcublasLt.so.12: "
                                                 "cannot open shared object file"},
                          .cpus_online = 96,
                          .cpus_allowed = 96,
                          .cpu_quota = 4.5,
                          .memory_bytes = 1024.0 * (1 << 30),
                          .memory_limit_bytes = 16.0 * (1 << 30),
                          .clock_synchronised = false,
                          .mpirun = "/usr/bin/mpirun",
                          .mpi_library = "Open MPI v4.1.4",
                          .own_name = {.seconds = 4.9, .known = false},
                          .localhost = {.seconds = 0.001, .known = true}};
  const std::vector<DoctorHost> hosts{{facts.host, doctor_checks(facts)}};
  compare("doctor", doctor_table(hosts, Lang::en));
  compare("doctor.zh", doctor_table(hosts, Lang::zh));
}
