#include "example_campaign.h"

#include <cmath>

#include <fmt/format.h>

namespace cb::example {
namespace {

constexpr int kSizes = 9;

Catalogue catalogue() {
  const ParamDef size{"size", ParamType::size, "1M", "bytes"};
  const ParamDef block{"block-size", ParamType::size, "4K", "bytes"};
  return {{.name = "info", .domain = "host", .prints_inventory = true},
          {.name = "gemm", .device = "cpu", .domain = "compute"},
          {.name = "gemm",
           .device = "gpu",
           .domain = "compute",
           .metrics = {{"flops_per_second", "flops_per_second", Better::higher, ""}}},
          {.name = "bandwidth", .device = "cpu", .domain = "memory", .params = {size}},
          {.name = "mpi", .domain = "network", .params = {size}},
          {.name = "io",
           .domain = "storage",
           .params = {block},
           .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher, ""}}},
          {.name = "burn", .device = "cpu", .domain = "stability"}};
}

Step step(std::string id, std::string case_name, GivenParams params, Scope scope = Scope::host) {
  return {.id = std::move(id),
          .case_name = std::move(case_name),
          .params = std::move(params),
          .scope = scope};
}

Criterion metric(std::string id, std::string of, std::string domain, LocalText title,
                 MetricRule rule, LocalText why, Source source) {
  return {.id = std::move(id),
          .step = std::move(of),
          .domain = std::move(domain),
          .title = std::move(title),
          .rule = std::move(rule),
          .why = std::move(why),
          .source = std::move(source)};
}

// Deterministic, between -1 and 1, without any pattern that a chart would show.
double wobble(int i) { return std::sin(static_cast<double>(i) * 12.9898 + 4.1414); }

Samples around(double value, double spread, int n, int seed) {
  Samples out;
  for (int i = 0; i < n; ++i) out.add(value * (1 + spread * wobble(seed * 977 + i)));
  return out;
}

Document document(const std::string& host, Record record) {
  Document out;
  out.tool = {"0.1.0", "84acf92e0c1d7a6b5f4e3d2c1b0a99887766554433", false, {}};
  out.run = {.id = "run",
             .started = record.started,
             .ended = record.ended,
             .launcher = "mpirun",
             .ranks = 2,
             .hosts = {host},
             .environment = {{"OMP_NUM_THREADS", "16"}}};
  out.records.push_back(std::move(record));
  return out;
}

Job done(const std::string& id, const std::string& host, int number, Document result) {
  const std::string file =
      fmt::format("records/{:03}-{}{}{}.json", number, id, host.empty() ? "" : "-", host);
  return {.step = id,
          .host = host,
          .state = JobState::done,
          .file = file,
          .log = fmt::format("logs/{:03}-{}.err", number, id),
          .command = {"mpirun", "-np", "2", "--host", host.empty() ? "node01:2,node02:2" : host,
                      "clusterbench", id, "--json", file},
          .started = "2026-11-20T14:03:12Z",
          .ended = "2026-11-20T14:04:40Z",
          .document = std::move(result)};
}

HostInventory inventory(const std::string& host, const std::string& kernel) {
  const auto nic = [](const char* id) {
    return Part{"nic",
                id,
                {{"rate_bits_per_second", int64_t{400'000'000'000}},
                 {"driver", std::string("mlx5_core")},
                 {"firmware", std::string("28.42.1000")}}};
  };
  return {host,
          {{"system", "0", {{"kernel", kernel}, {"distribution", std::string("Debian 12")}}},
           {"cpu",
            "0",
            {{"model", std::string("Intel Xeon Platinum 8480C")},
             {"cores", int64_t{112}},
             {"sockets", int64_t{2}}}},
           {"memory", "0", {{"total_bytes", int64_t{2'199'023'255'552}}}},
           nic("ib0"),
           nic("ib1"),
           {"nvme",
            "nvme0n1",
            {{"model", std::string("SAMSUNG MZWLO3T8HCLS")}},
            {{"smart_log", said("inventory.needs_root", "/dev/nvme0")}}}}};
}

Record gemm_record(const std::string& host, double flops, int seed) {
  Record r{.case_name = "gemm"};
  r.params.set("device", std::string("cpu"));
  r.params.set("dtype", std::string("fp64"));
  r.params.set("size", int64_t{4096});
  const size_t self = r.entity({host, "host", ""});
  r.metrics.push_back({"flops_per_second", "flops_per_second", Better::higher, self,
                       around(flops, 0.006, 40, seed),
                       Ceiling{5.1e12, said_count("gemm.measured_peak", 64, "avx512")}});
  r.checks.push_back({.name = "freivalds", .passed = true, .entity = self});
  r.facts = {{"library", seed == 2 ? "OpenBLAS 0.3.21 (Haswell)" : "OpenBLAS 0.3.21 (SkylakeX)"}};
  return r;
}

Record triad_record(const std::string& host, double bandwidth, int seed) {
  Record r{.case_name = "bandwidth"};
  r.params.set("device", std::string("cpu"));
  r.params.set("op", std::string("triad"));
  const size_t self = r.entity({host, "host", ""});
  r.metrics.push_back({"bytes_per_second", "bytes_per_second", Better::higher, self,
                       around(bandwidth, 0.01, 24, seed)});
  r.checks.push_back({.name = "values", .passed = true, .entity = self});
  r.notes = {said("gemm.peak_unknown")};
  return r;
}

Record random_read_record(const std::string& host, double slow, int seed) {
  Record r{.case_name = "io"};
  r.params.set("rw", std::string("randread"));
  r.params.set("block-size", int64_t{4096});
  const size_t disk = r.entity({host, "filesystem", "/data"});
  Histogram latency;
  for (int i = 0; i < 6000; ++i) {
    const double tail = i % 40 == 0 ? slow : 1.0;
    latency.add(9.2e-5 * tail * std::exp(0.35 * wobble(seed * 7919 + i)));
  }
  r.metrics.push_back({"latency_seconds", "seconds", Better::lower, disk,
                       Samples::from_histogram(std::move(latency))});
  r.metrics.push_back(
      {"io_per_second", "io_per_second", Better::higher, disk, around(342e3, 0.02, 50, seed)});
  r.checks.push_back({.name = "stamps", .passed = true, .entity = disk});
  r.facts = {{"path", "direct"}, {"engine", "io_uring"}};
  return r;
}

Record checkpoint_record(const std::string& host, int seed) {
  Record r{.case_name = "io"};
  r.params.set("rw", std::string("write"));
  r.params.set("block-size", int64_t{1} << 20);
  const size_t disk = r.entity({host, "filesystem", "/data"});
  r.metrics.push_back({"bytes_per_second", "bytes_per_second", Better::higher, disk,
                       around(2.9e9, 0.03, 40, seed)});
  return r;
}

Record burn_record(const std::string& host, double clock, double celsius, int seed) {
  Record r{.case_name = "burn"};
  r.params.set("device", std::string("cpu"));
  r.params.set("duration", 600.0);
  const size_t self = r.entity({host, "host", ""});
  r.metrics.push_back(
      {"passes_per_second", "count per second", Better::higher, self, around(41, 0.01, 60, seed)});
  Series hertz{"clock_hertz", "hertz", self};
  Series heat{"temperature_celsius", "celsius", self};
  Series throttled{"core_throttle_count", "count", self};
  for (int i = 0; i <= 120; ++i) {
    const double at = i * 5.0;
    const bool hot = seed == 3 && i > 70;
    hertz.at.push_back(at);
    hertz.values.push_back(clock * (hot ? 0.86 : 1) * (1 + 0.004 * wobble(seed * 31 + i)));
    heat.at.push_back(at);
    heat.values.push_back(celsius - 28 * std::exp(-i / 14.0) + 0.5 * wobble(seed * 57 + i));
    throttled.at.push_back(at);
    throttled.values.push_back(hot ? 1 : 0);
  }
  r.telemetry.series = {hertz, heat, throttled};
  r.telemetry.deltas = {{"core_throttle_count", "count", self, 0, throttled.values.back()}};
  r.checks.push_back({.name = "bitwise", .passed = true, .entity = self});
  return r;
}

Document all_reduce_document() {
  Document out;
  out.run = {.id = "run",
             .launcher = "mpirun",
             .ranks = 8,
             .hosts = {"node01", "node02", "node03", "node04"},
             .environment = {{"OMP_NUM_THREADS", "16"}, {"UCX_NET_DEVICES", "mlx5_0:1"}}};
  for (int i = 0; i < kSizes; ++i) {
    Record r{.case_name = "mpi"};
    r.params.set("op", std::string("all_reduce"));
    r.params.set("size", int64_t{1024} << (2 * i));
    const size_t cluster = r.entity({"", "cluster", ""});
    const double size = std::ldexp(1024, 2 * i);
    const double busbw = 42e9 * size / (size + 900e3) * (i == 5 ? 0.8 : 1);
    r.metrics.push_back(
        {"bus_bytes_per_second", "bytes_per_second", Better::higher, cluster,
         around(busbw, 0.05, 30, i),
         Ceiling{49.2e9, said("coll.per_host", Quantity{49.2e9, "bytes_per_second"}, 4)}});
    r.checks.push_back({.name = "data", .passed = true, .entity = cluster});
    out.records.push_back(std::move(r));
  }
  return out;
}

Profile mixed_profile() {
  Profile p{.name = "host", .title = {"Any Linux host", "通用 Linux 主机"}};
  p.sha256 = "4c1f0a7be2d94c55b0a1e6f37a8d2c9be4f1d07a6c3b25988e7f60d1c2b3a90e";
  p.steps = {step("info", "info", {}),
             step("gemm-fp64", "gemm", {{"device", {"cpu"}}, {"dtype", {"fp64"}}}),
             step("gemm-gpu", "gemm", {{"device", {"gpu"}}}),
             step("triad", "bandwidth", {{"device", {"cpu"}}, {"op", {"triad"}}}),
             step("all-reduce", "mpi", {{"op", {"all_reduce"}}}, Scope::cluster),
             step("randread", "io", {{"rw", {"randread"}}, {"block-size", {"4K"}}}),
             step("checkpoint", "io", {{"rw", {"write"}}}),
             step("burn", "burn", {{"device", {"cpu"}}, {"duration", {"10m"}}})};
  p.steps[2].needs = {{"gpu", 1}};
  p.checklist = {{"labels", "host", {"Hosts and cables are labelled", "主机与线缆标签齐全"}},
                 {"spares", "host", {"Spare parts are on site", "备件已到场"}}};
  return p;
}

void add_criteria(Profile& p) {
  const Source practice{
      "practice", {"HPL practice, share of measured peak", "HPL 经验值，实测峰值占比"}, "2025"};
  p.criteria = {
      metric("gemm", "gemm-fp64", "compute", {"Matrix product fp64", "双精度矩阵乘"},
             {.metric = "flops_per_second", .min_of_ceiling = 0.85},
             {"A host below its peers slows every job that it takes part in.",
              "落后的主机会拖慢其参与的每个作业。"},
             practice),
      metric("gemm-gpu", "gemm-gpu", "compute", {"Matrix product on GPU", "GPU 矩阵乘"},
             {.metric = "flops_per_second", .min = 1e14}, {}, practice),
      metric("triad", "triad", "memory", {"STREAM triad", "STREAM triad 内存带宽"},
             {.metric = "bytes_per_second", .min = 400e9},
             {"Memory bandwidth bounds most codes.", "多数程序受内存带宽限制。"},
             {"vendor", {"8 channels DDR5-4800", "8 通道 DDR5-4800"}, "2024-06"}),
      metric("triad-target", "triad", "memory", {"STREAM triad, target", "STREAM triad 目标值"},
             {.metric = "bytes_per_second", .min = 420e9},
             {"A target, not a limit.", "目标值，非限值。"},
             {"measured", {"fleet of 248 hosts", "248 台主机实测"}, "2026-03"}),
      metric("all-reduce", "all-reduce", "network", {"all_reduce 64M", "all_reduce 64M 总线带宽"},
             {.metric = "bus_bytes_per_second", .at = {{"size", {"64M"}}}, .min = 38e9},
             {"Training steps wait for it.", "训练的每一步都要等待它。"},
             {"contract", {"§4.2.1", ""}, ""}),
      metric("latency", "randread", "storage", {"Random read 4K, p99", "4K 随机读 p99 时延"},
             {.metric = "latency_seconds", .statistic = "p99", .max = 5e-4},
             {"Data loaders stall on the slowest percent.", "数据加载受最慢的百分之一拖累。"},
             {"contract", {"§4.3.1", ""}, "2026-05-02"}),
      metric("checkpoint", "checkpoint", "storage", {"Checkpoint write", "检查点写入带宽"},
             {.metric = "bytes_per_second", .min = 2e9},
             {"Every host waits for the slowest writer.", "所有主机都等待最慢的写入者。"},
             {"contract", {"§4.3.2", ""}, ""}),
  };
  p.criteria[3].severity = Severity::warn;
  p.criteria.push_back({.id = "data",
                        .step = "all-reduce",
                        .domain = "network",
                        .title = {"all_reduce, every element", "all_reduce 数据正确"},
                        .rule = CheckRule{"data", {}},
                        .source = {"standard", {"no wrong result", "结果无误"}, ""}});
  p.criteria.push_back(
      {.id = "uniform",
       .step = "info",
       .domain = "host",
       .title = {"Same kernel on all hosts", "各主机内核一致"},
       .rule = UniformRule{{"system.kernel"}},
       .source = {"practice", {"one image for all hosts", "全部主机同一镜像"}, ""}});
}

void add_jobs(Campaign& c) {
  const std::vector<std::string> hosts{"node01", "node02", "node03", "node04"};
  for (int i = 0; i < 4; ++i) {
    const std::string& host = hosts[static_cast<size_t>(i)];
    const double gemm[] = {4.78e12, 4.61e12, 4.83e12, 4.80e12};
    const double triad[] = {431e9, 422e9, 388e9, 433e9};
    const double tail[] = {2.4, 2.9, 8.1, 2.6};
    c.jobs.push_back(
        done("gemm-fp64", host, 2 + i, document(host, gemm_record(host, gemm[i], i + 1))));
    c.jobs.push_back(done("info", host, 1, document(host, {.case_name = "info"})));
    c.jobs.push_back(
        done("triad", host, 12 + i, document(host, triad_record(host, triad[i], i + 1))));
    c.jobs.push_back(
        done("randread", host, 22 + i, document(host, random_read_record(host, tail[i], i + 1))));
    c.jobs.push_back(done("burn", host, 42 + i,
                          document(host, burn_record(host, 3.1e9 - 2e7 * i, 71 + 6.0 * i, i + 1))));
    if (i < 3)
      c.jobs.push_back(
          done("checkpoint", host, 32 + i, document(host, checkpoint_record(host, i + 1))));
    c.inventories.push_back(inventory(host, i == 2 ? "6.1.0-28-amd64" : "6.1.0-30-amd64"));
  }
  c.jobs.push_back(done("all-reduce", "", 30, all_reduce_document()));
  c.jobs.push_back({.step = "gemm-gpu",
                    .state = JobState::not_applicable,
                    .reason = Message("need.none", {"1", "gpu", "node01"})});
  c.jobs.push_back({.step = "checkpoint",
                    .host = "node04",
                    .state = JobState::deadline,
                    .reason = said("end.deadline", "600 s"),
                    .log = "logs/040-checkpoint-node04.err",
                    .command = {"mpirun", "--host", "node04:1", "clusterbench", "io"}});
}

}  // namespace

Case mixed() {
  Case out{.catalogue = catalogue()};
  Campaign& c = out.campaign;
  c.profile = mixed_profile();
  add_criteria(c.profile);
  c.id = "20261120-1403-node01";
  c.started = "2026-11-20T14:03:12Z";
  c.ended = "2026-11-20T15:21:44Z";
  c.tool = {"0.1.0",
            "84acf92e0c1d7a6b5f4e3d2c1b0a998877665544",
            false,
            {{"compiler", "GNU 12.2.0"}, {"mpi", "Open MPI v4.1.4"}}};
  c.launcher = "mpirun";
  c.hosts = {"node01", "node02", "node03", "node04"};
  c.command = {
      "clusterbench", "run",           "host", "--hosts", "node01:2,node02:2,node03:2,node04:2",
      "--out",        "out/acceptance"};
  add_jobs(c);
  for (int i = 0; i < 12; ++i)
    c.manifest.emplace_back(fmt::format("records/{:03}.json", i),
                            fmt::format("{:064x}", 0x9d0e77b1U * static_cast<unsigned>(i + 1)));
  c.warnings = {said("load.foreign", "records/notes.txt")};
  out.waivers = {{.id = "W1",
                  .criterion = "triad",
                  .scope = "node03",
                  .reason = "DIMM ordered",
                  .approver = "Li Wei",
                  .ticket = "OPS-77",
                  .limit = 380e9,
                  .expires = "2026-12-31"}};
  return out;
}

Judgement judgement_of(const Case& example) {
  return judge(example.campaign, example.campaign.profile, example.waivers, "2026-11-20");
}

Case fleet(int hosts) {
  Case out = mixed();
  Campaign& c = out.campaign;
  out.waivers.clear();
  c.jobs.clear();
  c.inventories.clear();
  c.hosts.clear();
  c.manifest.clear();
  for (int i = 0; i < hosts; ++i) {
    const std::string host = fmt::format("node{:03}", i + 1);
    const double share = 1 + 0.01 * wobble(i);
    c.hosts.push_back(host);
    c.inventories.push_back(inventory(host, i == 17 ? "6.1.0-28-amd64" : "6.1.0-30-amd64"));
    c.jobs.push_back(
        done("gemm-fp64", host, i, document(host, gemm_record(host, 4.7e12 * share, 1))));
    c.jobs.push_back(done("triad", host, i, document(host, triad_record(host, 431e9 * share, i))));
    c.jobs.push_back(
        done("randread", host, i, document(host, random_read_record(host, 2 + share, i))));
    c.jobs.push_back(done("burn", host, i, document(host, burn_record(host, 3.1e9, 71, i + 4))));
    for (int file = 0; file < 8; ++file)
      c.manifest.emplace_back(fmt::format("records/{:03}-{}.json", file, host),
                              std::string(64, 'a'));
  }
  c.jobs.push_back(done("all-reduce", "", 30, all_reduce_document()));
  return out;
}

}  // namespace cb::example
