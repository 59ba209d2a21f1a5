#include "bench/training/train_record.h"

#include <fmt/format.h>

namespace cb::training {

std::vector<MetricDef> training_metrics(const std::string& peak) {
  return {{"tokens_per_second", "count per second", Better::higher, "of all ranks together"},
          {"model_flops_per_second", "flops_per_second", Better::higher,
           "operations that the model needs, over time: all ranks together"},
          {"share_of_peak", "share", Better::higher, peak},
          {"hardware_share_of_peak", "share", Better::higher,
           "HFU: the same with the layers that --recompute computes again"},
          {"share_of_gemm", "share", Better::higher,
           "the model's operations over this rank's fastest product of the step's shapes"},
          {"step_seconds", "seconds", Better::lower, "of a whole step"},
          {"predicted_step_seconds", "seconds", Better::lower, "by its parts, each measured alone"},
          {"forward_seconds", "seconds", Better::lower, "of a step, without waiting"},
          {"backward_seconds", "seconds", Better::lower, "of a step, without waiting"},
          {"optimizer_seconds", "seconds", Better::lower, "of a step, without waiting"},
          {"exposed_communication_seconds", "seconds", Better::lower,
           "exchanges of a step that no computing hid"},
          {"bubble_share", "share", Better::lower, "of a step, waiting for other stages"},
          {"matmul_seconds", "seconds", Better::lower, "of a step, in products"},
          {"predicted_matmul_seconds", "seconds", Better::lower, "each product alone"},
          {"attention_seconds", "seconds", Better::lower, "of a step, in attention"},
          {"predicted_attention_seconds", "seconds", Better::lower, "attention alone"},
          {"elementwise_seconds", "seconds", Better::lower, "of a step, row by row"},
          {"predicted_elementwise_seconds", "seconds", Better::lower, "each loop alone"},
          {"predicted_optimizer_seconds", "seconds", Better::lower, "the optimizer alone"},
          {"predicted_communication_seconds", "seconds", Better::lower,
           "exchanges that computing does not hide, rehearsed"},
          {"exchange_alone_seconds", "seconds", Better::lower,
           "exchanges of a step's gradients with nothing beside them"},
          {"memory_bytes", "bytes", Better::lower, "allocated by a rank"},
          {"checkpoint_seconds", "seconds", Better::lower,
           "from the end of a step until all ranks' checkpoints are on their devices"},
          {"checkpoint_host_seconds", "seconds", Better::lower,
           "of it, this rank's digests and copies"},
          {"checkpoint_storage_seconds", "seconds", Better::lower,
           "of it, writing that these do not hide, and flushing"},
          {"checkpoint_wait_seconds", "seconds", Better::lower,
           "of it, waiting for the last rank's file"},
          {"checkpoint_bytes_per_second", "bytes_per_second", Better::higher,
           "of this rank's checkpoint"},
          {"first_loss_nats", "nats", Better::lower, "mean over the tokens of the first step"},
          {"loss_nats", "nats", Better::lower, "of each timed step"},
          {"scaling_efficiency", "share", Better::higher,
           "tokens per second of a group over the sum of what the groups of the smallest --level "
           "within it gave by themselves"},
          {"host_scaling_efficiency", "share", Better::higher,
           "of all ranks: tokens per second over the sum of what the hosts gave by themselves"}};
}

std::vector<std::string> training_checks() {
  return {"finite", "first_loss", "floor", "reach", "straggler", "twin", "weights"};
}

FaultPlan training_fault() {
  return {.planted = said("fault.activation"),
          .checks = {"twin"},
          .brief = {},  // the first twin step finds it, before any step of training
          .point_seconds = 10,
          .blind = {{"twin-every", {"0"}, said("train.no_twin")}}};
}

void add_training_facts(Record& record, const Options& o) {
  record.facts["model"] = Said(fmt::format(
      "{} L={} h={} heads={}/{} d={} f={} V={}", o.shape.name, o.shape.layers, o.shape.hidden,
      o.shape.heads, o.shape.kv_heads, o.shape.head_dim, o.shape.feed_forward, o.shape.vocabulary));
  record.facts["layout"] = Said(fmt::format("dp={} tp={} pp={} {}", o.layout.data, o.layout.tensor,
                                            o.layout.pipeline, o.layout.zero1 ? "zero1" : "zero0"));
  record.facts["flops_per_token"] =
      said("train.flops_convention", flops_per_token(o.shape, o.batch.sequence));
  record.facts["loss_floor"] = Said(fmt::format("{:.4f}", loss_floor(o.text)));
}

// Ranks that share matrices exchange at every layer: over a network this is another measurement.
void note_shared_over_hosts(Record& record, const Context& context, const Layout& l) {
  const auto& host_of = context.place.host_of_rank;
  for (size_t rank = 0; rank < host_of.size(); ++rank) {
    const size_t first = rank / static_cast<size_t>(l.tensor) * static_cast<size_t>(l.tensor);
    if (host_of[rank] == host_of[first]) continue;
    record.notes.push_back(said("train.across_hosts"));
    return;
  }
}

void add_course(Record& record, const Trained& measured) {
  if (!measured.weights_digest.empty()) record.facts["weights_digest"] = measured.weights_digest;
  if (!measured.checkpoint_how.empty()) record.facts["checkpoint_path"] = measured.checkpoint_how;
  if (measured.resumed_at > 0) record.facts["resumed_at"] = std::to_string(measured.resumed_at);
}

void add_job_figures(Record& record, size_t whole, const Options& o, const Trained& m,
                     double predicted) {
  const double tokens = static_cast<double>(o.batch.tokens() * o.layout.data);
  const double flops = flops_per_token(o.shape, o.batch.sequence) * tokens;
  const auto rate = [&](double work) {
    return m.run.seconds.mapped([work](double seconds) { return work / seconds; });
  };
  record.add("tokens_per_second", whole, rate(tokens),
             Ceiling{tokens / predicted, said("train.predicted_by_parts")});
  record.add("model_flops_per_second", whole, rate(flops));
  // Each step stays, as its phases do, however many there are: a report draws them side by side.
  record.add("step_seconds", whole, Samples::from_list(m.run.spans.of("total")));
  record.add("predicted_step_seconds", whole, {predicted});
  if (m.resumed_at == 0) record.add("first_loss_nats", whole, {m.losses.front()});
  record.add("loss_nats", whole,
             Samples::from_list({m.losses.begin() + o.warm_up, m.losses.end()}));
}

void add_rank_figures(Record& record, size_t self, const Layout& layout, const Trained& m,
                      const Prediction& p) {
  const auto span = [&](const char* metric, const char* name) {
    record.add(metric, self, Samples::from_list(m.run.spans.of(name)));
  };
  span("forward_seconds", "forward");
  span("backward_seconds", "backward");
  span("optimizer_seconds", "optimizer");
  if (layout.ranks() > 1) span("exposed_communication_seconds", "exposed");
  if (layout.pipeline > 1) span("bubble_share", "bubble");
  span("matmul_seconds", "matmul");
  span("attention_seconds", "attention");
  span("elementwise_seconds", "elementwise");
  record.add("predicted_matmul_seconds", self, {p.matmul});
  record.add("predicted_attention_seconds", self, {p.attention});
  record.add("predicted_elementwise_seconds", self, {p.elementwise});
  record.add("predicted_optimizer_seconds", self, {p.optimizer});
  if (layout.ranks() > 1)
    record.add("predicted_communication_seconds", self, {p.exchange + p.gradients});
  if (p.gradients_alone > 0) record.add("exchange_alone_seconds", self, {p.gradients_alone});
  record.add("memory_bytes", self, {static_cast<double>(m.memory_bytes)});
  if (m.checkpoint_seconds.empty()) return;
  Samples rates;
  for (const double seconds : m.checkpoint_seconds)
    rates.add(static_cast<double>(m.checkpoint_bytes) / seconds);
  record.add("checkpoint_seconds", self, Samples::from_list(m.checkpoint_seconds));
  record.add("checkpoint_host_seconds", self, Samples::from_list(m.checkpoint_host_seconds));
  record.add("checkpoint_storage_seconds", self, Samples::from_list(m.checkpoint_storage_seconds));
  record.add("checkpoint_wait_seconds", self, Samples::from_list(m.checkpoint_wait_seconds));
  record.add("checkpoint_bytes_per_second", self, std::move(rates));
}

Samples share_of(double rate, const Options& o, const Trained& m) {
  const double flops = flops_per_token(o.shape, o.batch.sequence) *
                       static_cast<double>(o.batch.tokens()) /
                       (o.layout.tensor * o.layout.pipeline);
  return m.run.seconds.mapped([&](double seconds) { return flops / seconds / rate; });
}

void add_shares_of_peak(Record& record, size_t self, double peak, const Options& o,
                        const Trained& m) {
  const Samples shares = share_of(peak, o, m);
  record.add("share_of_peak", self, shares);
  if (!o.recompute) return;
  const double more = hardware_flops_per_token(o.shape, o.batch.sequence, true) /
                      flops_per_token(o.shape, o.batch.sequence);
  record.add("hardware_share_of_peak", self,
             shares.mapped([more](double share) { return share * more; }));
}

Samples joules_per_token(double watts, const Options& o, const Trained& m) {
  const double tokens =
      static_cast<double>(o.batch.tokens()) / (o.layout.tensor * o.layout.pipeline);
  return m.run.seconds.mapped([&](double seconds) { return watts * seconds / tokens; });
}

}  // namespace cb::training
