// `overlap`: products and collectives on the same GPUs, alone and at once.
#include "bench/collectives/overlap.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/collectives/group.h"
#include "bench/collectives/nccl/affinity.h"
#include "bench/collectives/nccl/call.h"
#include "bench/collectives/nccl/ranks.h"
#include "bench/gpu/cuda/gemm_unit.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "core/clock.h"
#include "model/overlap.h"
#include "sys/gpu/nvtx.h"

namespace cb {
namespace {

struct OverlapPoint {
  Params params;
  Collective collective;
  int max_ctas;  // 0: the library's choice
};

std::vector<OverlapPoint> overlap_points(const Params& params) {
  std::vector<OverlapPoint> out;
  for (const std::string& op : params.texts("op")) {
    for (const int64_t ctas : params.integers("max-ctas"))
      out.push_back({params.with("op", op).with("max-ctas", ctas), collective_of(op),
                     static_cast<int>(ctas)});
  }
  return out;
}

// One turn of the work, by the host's clock.
struct Turn {
  double seconds = 0;                // until all is done
  double collective = 0;             // until the collectives are
  std::vector<double> product = {};  // of each GPU's products, by its events
};

class Overlap {
 public:
  Overlap(Context& context, GpuSession& session, const cublaslt::Library& blas,
          nccl::Communicators& comms, const OverlapPoint& point)
      : context_(context), session_(session), blas_(blas), comms_(comms), point_(point) {}

  ~Overlap() {
    for (size_t i = 0; i < products_.size(); ++i) dispose(session_.units()[i], products_[i]);
  }
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;

  Record measure() {
    Record record{.case_name = "overlap", .params = point_.params};
    session_.describe(record);
    record.facts["library"] = comms_.library().name();
    record.facts["communicator"] =
        comms_.blocking() ? said("coll.blocking") : said("coll.non_blocking");
    require_units();
    if (const Said why = make_products(); !why.empty())
      return skipped_record("overlap", point_.params, why)[0];
    nccl::NcclCall call(spec(), comms_, {});
    set_counts(record, call);
    telemetry_ = session_.watch();
    sample(call);
    finish(record);
    return record;
  }

 private:
  // Collective. Throws on all ranks where a GPU of one was lost at an earlier point.
  void require_units() {
    Said lost;
    for (const GpuUnit& unit : session_.units()) {
      if (lost.empty()) lost = unit.lost;
    }
    throw_where_failed(context_.comm, lost);
  }

  RankBuffersSpec spec() const {
    const auto bytes = static_cast<uint64_t>(point_.params.integer("message"));
    const auto size = collective_size(point_.collective, bytes, sizeof(float),
                                      static_cast<uint64_t>(comms_.ranks()));
    if (!size)
      throw Error(said(
          "overlap.message_small", bytes,
          least_bytes(point_.collective, sizeof(float), static_cast<uint64_t>(comms_.ranks()))));
    return {.collective = point_.collective, .size = *size};
  }

  // A GPU that fails ends the point: without it the collective would not come back.
  void on(size_t i, const std::function<void()>& work) {
    GpuUnit& unit = session_.units()[i];
    if (!guarded(unit, work))
      throw Error(unit.lost, unit.hangs ? ExitCode::deadline : ExitCode::runtime);
  }

  // Collective. The library's first proposal is taken on each GPU. Returns why there is none.
  Said make_products() {
    const Params& p = point_.params;
    const int64_t edge = p.integer("size");
    const GemmPoint shape{.dtype = p.text("dtype"), .m = edge, .n = edge, .k = edge, .params = p};
    products_.resize(session_.units().size());
    Said problem;
    for (size_t i = 0; i < products_.size(); ++i) {
      const GpuUnit& unit = session_.units()[i];
      const auto none = [&] {
        return said("gpu.no_algorithm", entity_name(unit.entity), blas_.version(), shape.dtype,
                    edge, edge, edge);
      };
      if (unit.device.compute_capability < gpu_dtype(shape.dtype).least_capability) {
        problem = said("gpu.has_no", unit.device.name, shape.dtype);
        continue;
      }
      try {
        on(i, [&] {
          products_[i] = std::make_unique<GemmUnit>(blas_, unit, shape,
                                                    static_cast<uint64_t>(p.integer("seed")));
          const auto proposals = products_[i]->proposals(1);
          if (proposals.empty())
            problem = none();
          else
            products_[i]->use(proposals[0]);
        });
      } catch (const cublaslt::Unsupported&) {
        problem = none();
      }
    }
    return agreed(context_, problem);
  }

  // Collective. As many collectives as fill 20 ms, and products for at least as long: a step of
  // training has its collectives under longer products.
  void set_counts(Record& record, nccl::NcclCall& call) {
    call.prepare(0);
    double one_product = 0;
    const auto seconds_of_run = [&] {
      const double start = monotonic_seconds();
      call.run();
      context_.watchdog.progress();
      return context_.comm.max(monotonic_seconds() - start);
    };
    seconds_of_run();  // the first one connects
    call.set_calls(nccl::calls_of_iteration(seconds_of_run()));
    const double wanted = std::max(kGpuSampleSeconds, seconds_of_run());
    for (int i = 0; i < 2; ++i) {  // the first one loads
      one_product = 0;
      for (size_t u = 0; u < products_.size(); ++u) {
        on(u, [&] {
          products_[u]->start(1);
          one_product = std::max(one_product, products_[u]->seconds());
        });
      }
      context_.watchdog.progress();
    }
    const double most = static_cast<double>(kMaxProducts);
    count_ = static_cast<int64_t>(
        context_.comm.max(std::clamp(std::ceil(wanted / std::max(one_product, 1e-9)), 1.0, most)));
    record.facts["calls_per_iteration"] = std::to_string(call.calls());
    record.facts["products_per_iteration"] = std::to_string(count_);
  }

  // Collective. The products are queued first: the collective comes into a GPU that works.
  Turn turn(nccl::NcclCall* call, bool with_products) {
    Turn out;
    const nvtx::Range range(call == nullptr ? "products alone"
                            : with_products ? "products and collectives"
                                            : "collectives alone");
    context_.comm.barrier();
    const double start = monotonic_seconds();
    if (with_products) {
      for (size_t i = 0; i < products_.size(); ++i) on(i, [&] { products_[i]->start(count_); });
    }
    if (call != nullptr) {
      call->run();
      out.collective = monotonic_seconds() - start;
    }
    if (with_products) {
      for (size_t i = 0; i < products_.size(); ++i)
        on(i,
           [&] { out.product.push_back(products_[i]->seconds() * static_cast<double>(count_)); });
    }
    out.seconds = monotonic_seconds() - start;
    return out;
  }

  void sample(nccl::NcclCall& call) {
    const Params& p = point_.params;
    SamplePlan plan{.warm_up_seconds = p.number("warm-up"),
                    .warm_up_samples = p.number("warm-up") > 0 ? 3U : 0U,
                    .what = fmt::format("overlap {}", collective_name(point_.collective)),
                    .spans = {"product", "collective", "both", "collective in both"}};
    for (const GpuUnit& unit : session_.units()) plan.spans.push_back(unit.entity.id);
    plan.stop.max_seconds = p.number("duration");
    if (p.has("iterations")) {
      plan.stop.min_samples = plan.stop.max_samples =
          static_cast<uint64_t>(p.integer("iterations"));
      plan.stop.target_half_width = 0;
      plan.stop.max_seconds = 1e9;
    }
    plan.begin = [this] {
      if (telemetry_) telemetry_->open_window();
    };
    run_ = context_.sampler.measure_spans(plan, [&](Spans& spans) { return once(call, spans); });
    if (telemetry_) windows_ = telemetry_->close_window();
  }

  // Collective. The slowest rank's time counts: the step ends with it.
  double once(nccl::NcclCall& call, Spans& spans) {
    const auto slowest = [&](const char* name, double mine) {
      const double all = context_.comm.max(mine);
      spans.add(name, all);
      return all;
    };
    prepare(call);
    const Turn product = turn(nullptr, true);
    slowest("product", product.seconds);
    const Turn collective = turn(&call, false);
    verify(call);
    slowest("collective", collective.seconds);
    prepare(call);
    const Turn both = turn(&call, true);
    verify(call);
    slowest("collective in both", both.collective);
    for (size_t i = 0; i < products_.size(); ++i)
      spans.add(session_.units()[i].entity.id, both.product[i] / product.product[i]);
    return slowest("both", both.seconds);
  }

  void prepare(nccl::NcclCall& call) { call.prepare(++iteration_); }

  void verify(nccl::NcclCall& call) {
    if (iteration_ == 1 && plants_fault(context_, point_.params)) call.corrupt();
    ++verified_;
    if (const auto wrong = call.verify(iteration_); wrong && wrong_.empty())
      wrong_ = said("said.of", context_.who(), wrong->text);
  }

  void finish(Record& record) {
    const Said wrong = agreed(context_, wrong_);
    const bool good = add_products(record) && wrong.empty();
    session_.end_watch(telemetry_.get(), record, context_.place.host);
    telemetry_.reset();
    session_.settle(record);
    const bool all_good = !context_.comm.any(!good);
    if (!context_.comm.is_root()) return;
    const size_t cluster = record.entity({"", "cluster", ""});
    record.checks.push_back({.name = "data",
                             .passed = wrong.empty() && verified_ > 0,
                             .entity = cluster,
                             .detail = wrong});
    if (all_good) add_times(record, cluster);
  }

  // Returns whether the products of this rank were right.
  bool add_products(Record& record) {
    bool good = true;
    for (size_t i = 0; i < products_.size(); ++i) {
      const GpuUnit& unit = session_.units()[i];
      kernels::ProductResult result{};
      on(i, [&] { result = products_[i]->check(false); });
      const size_t entity = record.entity(unit.entity);
      const bool right = result.wrong == 0 && result.checked > 0;
      good = good && right;
      record.checks.push_back(
          {.name = "product",
           .passed = right,
           .value = static_cast<double>(result.wrong),
           .limit = 0,
           .entity = entity,
           .detail = right ? Said()
                           : said("overlap.product_wrong", unit.entity.id, unit.device.uuid,
                                  result.wrong, result.checked)});
      if (!right) continue;
      Samples slowdown;
      for (const double ratio : run_.spans.of(unit.entity.id)) slowdown.add(ratio);
      if (wrong_.empty() && !slowdown.empty())
        record.add("product_slowdown", entity, std::move(slowdown));
      if (windows_.size() > i) add_window(record, entity, windows_[i]);
    }
    return good;
  }

  // What the GPU did in all three turns together.
  static void add_window(Record& record, size_t entity, const GpuWindow& window) {
    const Said did = activity_sentence(window.activity());
    if (!did.empty())
      record.notes.push_back(said("activity.of", entity_name(record.entities[entity]), did));
  }

  void add_times(Record& record, size_t cluster) {
    Samples product, collective, both, exposed, hidden, slowdown;
    const auto& spans = run_.spans;
    for (size_t i = 0; i < spans.of("both").size(); ++i) {
      const OverlapTimes times{spans.of("product")[i], spans.of("collective")[i],
                               spans.of("both")[i]};
      product.add(times.product);
      collective.add(times.collective);
      both.add(times.both);
      exposed.add(exposed_seconds(times));
      hidden.add(hidden_share(times));
      slowdown.add(spans.of("collective in both")[i] / times.collective);
    }
    record.add("product_seconds", cluster, product);
    record.add("collective_seconds", cluster, collective);
    record.add("both_seconds", cluster, both);
    record.add("exposed_seconds", cluster, exposed);
    record.add("hidden_share", cluster, hidden);
    record.add("collective_slowdown", cluster, slowdown);
  }

  Context& context_;
  GpuSession& session_;
  const cublaslt::Library& blas_;
  nccl::Communicators& comms_;
  const OverlapPoint& point_;
  std::vector<std::unique_ptr<GemmUnit>> products_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
  SampleRun run_;
  int64_t count_ = 1;  // products of a turn
  uint64_t iteration_ = 0, verified_ = 0;
  Said wrong_;
};

// The libraries and the devices; or why some rank lacks one.
struct OverlapTools {
  std::optional<cublaslt::Library> blas = {};
  std::optional<nccl::Library> nccl = {};
  nccl::Devices devices = {};
};

Said open_tools(Context& context, OverlapTools& tools) {
  auto devices = nccl::gpu_devices(context);
  if (auto* why = std::get_if<Said>(&devices)) return *why;
  tools.devices = std::get<nccl::Devices>(std::move(devices));
  auto blas = cublaslt::open();
  auto library = nccl::Library::open();
  Said problem;
  if (auto* absent = std::get_if<cublaslt::Absent>(&blas))
    problem = absent->reason;
  else
    tools.blas = std::get<cublaslt::Library>(blas);
  if (auto* absent = std::get_if<Said>(&library))
    problem = *absent;
  else
    tools.nccl.emplace(std::get<nccl::Library>(library));
  if (!problem.empty()) problem = said("said.of", context.who(), problem);
  problem = agreed(context, problem);
  if (!problem.empty()) return problem;
  const double most = context.comm.max(static_cast<double>(tools.devices.size()));
  return most * context.comm.size() < 2 ? said("overlap.alone") : Said();
}

}  // namespace

std::vector<Record> measure_overlap(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("overlap", params, *why);
  auto& session = std::get<GpuSession>(opened);
  OverlapTools tools;
  if (const Said why = open_tools(context, tools); !why.empty())
    return skipped_record("overlap", params, why);
  const nccl::NearDevices near(context, tools.devices);
  Problems problems;
  nccl::check_rank_map(nccl::gather_rank_map(context, tools.devices, near.fit().text), problems);
  throw_agreed(context.comm, "clusterbench overlap", problems);
  const Group group = make_group(context.place, context.comm.rank(), "");
  const auto name = [](const OverlapPoint& point) {
    return PointName{point.params, fmt::format("overlap {} with {} CTAs",
                                               collective_name(point.collective), point.max_ctas)};
  };
  return run_points(
      context, "overlap", overlap_points(params), name, [&](const OverlapPoint& point) {
        nccl::CommOptions options{.init_seconds = params.number("init-deadline"),
                                  .wait_seconds = params.number("wait-deadline")};
        if (point.max_ctas > 0) options.max_ctas = point.max_ctas;
        nccl::Communicators comms(*tools.nccl, context, group.comm, tools.devices, options);
        return Overlap(context, session, *tools.blas, comms, point).measure();
      });
}

}  // namespace cb
