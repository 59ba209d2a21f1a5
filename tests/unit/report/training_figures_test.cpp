// How the report shows a training step: the waterfall's arithmetic, the phases of steps and ranks,
// and when there is no figure.
#include <doctest/doctest.h>

#include <numeric>

#include "report/training_figures.h"

using namespace cb;

namespace {

// Rank 1 is slower by its prediction; the step of all takes 0.9 s.
Record trained(double predicted_step, double bubble) {
  Record out{.case_name = "train"};
  out.params.set("pp", int64_t{bubble > 0 ? 2 : 1});
  const size_t whole = out.entity({"", "cluster", ""});
  out.add("predicted_step_seconds", whole, {predicted_step});
  out.add("step_seconds", whole, {0.9, 0.9});
  out.add("loss_nats", whole, {5.5, 1.5});
  out.facts["loss_floor"] = Said("1.2496");
  for (const int rank : {0, 1}) {
    const size_t self = out.entity({"h", "rank", std::to_string(rank)});
    const double share = rank == 0 ? 0.5 : 1;
    out.add("predicted_matmul_seconds", self, {0.40 * share});
    out.add("predicted_attention_seconds", self, {0.10 * share});
    out.add("predicted_elementwise_seconds", self, {0.10 * share});
    out.add("predicted_optimizer_seconds", self, {0.05 * share});
    out.add("predicted_communication_seconds", self, {0.05 * share});
    out.add("matmul_seconds", self, {0.44 * share});
    out.add("attention_seconds", self, {0.08 * share});
    out.add("elementwise_seconds", self, {0.15 * share});
    out.add("optimizer_seconds", self, {0.05 * share});
    out.add("exposed_communication_seconds", self, {0.06 * share});
    out.add("bubble_share", self, {bubble});
  }
  return out;
}

std::vector<Figure> figures_of(std::vector<Record> records, Lang lang = Lang::en) {
  Campaign campaign;
  campaign.profile.steps.push_back({.id = "step", .case_name = "train"});
  for (Record& record : records) {
    Document document;
    document.records.push_back(std::move(record));
    campaign.jobs.push_back({.step = "step", .document = std::move(document)});
  }
  const Judgement judgement;
  const Catalogue catalogue;
  const Paperwork papers;
  const Texts texts(lang);
  return training_figures({campaign, judgement, catalogue, texts, papers, {}},
                          campaign.profile.steps.front());
}

// The differences begin where the one above ends, from the one total to the other.
void check_chain(const WaterfallChart& chart, double predicted, double measured) {
  const auto& steps = chart.steps;
  CHECK(steps.front().to == doctest::Approx(predicted));
  for (size_t i = 1; i + 1 < steps.size(); ++i) {
    CHECK_FALSE(steps[i].total);
    CHECK(steps[i].from == steps[i - 1].to);
  }
  CHECK(steps[steps.size() - 2].to == doctest::Approx(measured));
  CHECK(steps.back().to == doctest::Approx(measured));
  CHECK((steps.front().total && steps.back().total));
}

// Of the steps of a job: their seconds, and the seconds of the phases of its ranks.
Record timed(std::vector<double> seconds) {
  Record out{.case_name = "train"};
  const size_t whole = out.entity({"", "cluster", ""});
  out.add("predicted_step_seconds", whole, {1.0});
  out.add("loss_nats", whole, Samples::from_list(std::vector<double>(seconds.size(), 2.0)));
  out.add("step_seconds", whole, Samples::from_list(std::move(seconds)));
  return out;
}

void add_rank(Record& record, int rank, std::vector<double> forward, std::vector<double> backward,
              std::vector<double> exposed) {
  const size_t self = record.entity({"h", "rank", std::to_string(rank)});
  record.add("optimizer_seconds", self,
             Samples::from_list(std::vector<double>(forward.size(), 0.1)));
  record.add("forward_seconds", self, Samples::from_list(std::move(forward)));
  record.add("backward_seconds", self, Samples::from_list(std::move(backward)));
  record.add("exposed_communication_seconds", self, Samples::from_list(std::move(exposed)));
}

// Rank 1 computes more in each step, most of all in the third.
Record two_ranks() {
  Record out = timed({1.0, 1.09, 2.0, 1.05});
  add_rank(out, 0, {0.2, 0.2, 0.2, 0.2}, {0.4, 0.4, 0.4, 0.4}, {0.3, 0.39, 1.3, 0.35});
  add_rank(out, 1, {0.3, 0.3, 0.3, 0.3}, {0.5, 0.5, 1.5, 0.5}, {0.1, 0.19, 0.1, 0.15});
  return out;
}

const StackChart& phases_in(const std::vector<Figure>& figures) {
  return std::get<StackChart>(figures.at(1).chart);
}

const StackRowsChart& ranks_in(const std::vector<Figure>& figures) {
  return std::get<StackRowsChart>(figures.at(2).chart);
}

void check_values(const std::vector<double>& values, const std::vector<double>& wanted) {
  REQUIRE(values.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(values[i] == doctest::Approx(wanted[i]));
}

double difference(const WaterfallStep& step) { return step.to - step.from; }

}  // namespace

TEST_CASE("the predicted step becomes the measured one by the parts of the slowest rank") {
  const auto figures = figures_of({trained(0.7, 0)});
  REQUIRE(figures.size() == 2);
  const auto& chart = std::get<WaterfallChart>(figures[0].chart);
  check_chain(chart, 0.7, 0.9);
  REQUIRE(chart.steps.size() == 8);
  const std::vector<double> wanted{0.04, -0.02, 0.05, 0, 0.01, 0.12};
  for (size_t i = 0; i < wanted.size(); ++i)
    CHECK(difference(chart.steps[i + 1]) == doctest::Approx(wanted[i]));
  CHECK(chart.steps[2].value_text == "−20.0 ms");
  CHECK(figures[0].caption.find("h:1") != std::string::npos);
  CHECK(figures[0].caption.find("78 %") != std::string::npos);
}

TEST_CASE("stages that wait are a difference of their own") {
  const auto figures = figures_of({trained(0.8, 0.2)});
  const auto& chart = std::get<WaterfallChart>(figures.at(0).chart);
  check_chain(chart, 0.8, 0.9);
  REQUIRE(chart.steps.size() == 9);
  CHECK(chart.steps[6].label == "waiting for stages");
  CHECK(difference(chart.steps[6]) == doctest::Approx(0.2 * 0.9 - 0.1));
  CHECK(difference(chart.steps[7]) == doctest::Approx(0.9 - 0.78 - 0.18));
}

TEST_CASE("the loss stands above the text's entropy, step by step") {
  const auto figures = figures_of({trained(0.7, 0)});
  const auto& chart = std::get<TimelineChart>(figures.at(1).chart);
  CHECK(chart.x_label == "step");
  REQUIRE(chart.panels.size() == 2);
  REQUIRE(chart.panels[0].lines.size() == 2);
  CHECK(chart.panels[0].lines[0].points == std::vector<Point>{{1, 5.5}, {2, 1.5}});
  CHECK(chart.panels[0].lines[1].points == std::vector<Point>{{1, 1.2496}, {2, 1.2496}});
  CHECK(draw(figures[1].chart, "i", "t", "d").find(" step</text>") != std::string::npos);
}

TEST_CASE("steps are numbered as they ran: after the warm-up, and after a checkpoint") {
  Record record = trained(0.7, 0);
  record.params.set("warm-up-steps", int64_t{3});
  record.facts["resumed_at"] = Said("1000");
  const auto figures = figures_of({std::move(record)});
  const auto& chart = std::get<TimelineChart>(figures.at(1).chart);
  CHECK(chart.panels[0].lines[0].points == std::vector<Point>{{1004, 5.5}, {1005, 1.5}});
}

TEST_CASE("a part that the record lacks is all else, and no wait for stages") {
  Record record = trained(0.7, 0);
  std::erase_if(record.metrics,
                [](const Metric& m) { return m.name == "predicted_matmul_seconds"; });
  record.facts["loss_floor"] = Said("1e300");
  const auto figures = figures_of({std::move(record)});
  const auto& chart = std::get<WaterfallChart>(figures.at(0).chart);
  check_chain(chart, 0.7, 0.9);
  CHECK(chart.steps.size() == 7);
  CHECK(std::get<TimelineChart>(figures.at(1).chart).panels[0].lines.size() == 1);
}

TEST_CASE("of many records the slowest is shown, and other steps have no such figure") {
  Record slow = trained(0.7, 0);
  for (Metric& m : slow.metrics) {
    if (m.name == "step_seconds") m.samples = {1.8, 1.8};
  }
  const auto figures = figures_of({trained(0.7, 0), std::move(slow), trained(0.7, 0)});
  REQUIRE(figures.size() == 2);
  CHECK(std::get<WaterfallChart>(figures[0].chart).steps.back().to == doctest::Approx(1.8));
  Record other{.case_name = "gemm"};
  other.add("flops_per_second", other.entity({"", "cluster", ""}), {1.0});
  CHECK(figures_of({std::move(other)}).empty());
}

TEST_CASE("of groups of growing size that is shown in which all ranks train") {
  const auto level = [](const char* name, double seconds) {
    Record out = trained(0.7, 0);
    out.params.set("level", std::string(name));
    for (Metric& m : out.metrics) {
      if (m.name == "step_seconds") m.samples = {seconds, seconds};
    }
    return out;
  };
  const auto figures = figures_of({level("replica", 7.2), level("host", 1.8), level("all", 0.9)});
  REQUIRE(figures.size() == 2);
  CHECK(std::get<WaterfallChart>(figures[0].chart).steps.back().to == doctest::Approx(0.9));
  CHECK(figures_of({level("replica", 7.2)}).empty());
}

TEST_CASE("steps of two kinds leave nothing over: their means add up") {
  Record record = trained(0.7, 0);
  for (Metric& m : record.metrics) {
    if (m.name == "step_seconds") m.samples = {0.5, 0.5, 1.5};
    if (m.name == "exposed_communication_seconds" && record.entities[m.entity].id == "1")
      m.samples = {0.1, 0.1, 0.7};
  }
  const auto figures = figures_of({std::move(record)});
  const auto& steps = std::get<WaterfallChart>(figures.at(0).chart).steps;
  CHECK(steps.back().to == doctest::Approx(2.5 / 3));
  CHECK(difference(steps[5]) == doctest::Approx(0.3 - 0.05));
}

TEST_CASE("each step is drawn as the rank that computed longest in it passed it") {
  const auto figures = figures_of({two_ranks()});
  REQUIRE(figures.size() == 3);
  const StackChart& chart = phases_in(figures);
  std::vector<std::string> parts;
  for (const StackPart& part : chart.parts) parts.push_back(part.label);
  CHECK(parts == std::vector<std::string>{"forward", "backward", "optimizer",
                                          "exposed communication", "all else"});
  REQUIRE(chart.columns.size() == 4);
  CHECK(chart.columns[0].at == 1);
  CHECK(chart.columns[3].at == 4);
  CHECK(chart.width == 1);
  check_values(chart.columns[2].values, {0.3, 1.5, 0.1, 0.1, 0.0});
  check_values(chart.columns[3].values, {0.3, 0.5, 0.1, 0.15, 0.0});
  CHECK(chart.below.empty());
  CHECK(figures[1].caption ==
        "4 timed steps, their phases from the bottom in the legend's order. Step 3 took longest, "
        "2.00 s; the median is 1.07 s. Most of what it took "
        "longer is backward: 1.00 s above the median of this phase. Each column is the rank that "
        "computed longest in that step.");
  CHECK(figures_of({two_ranks()}, Lang::zh).at(1).caption ==
        "计时 4 步，各阶段自下而上按图例顺序排列。第 3 步最慢，为 2.00 s；中位数为 1.07 "
        "s。多出的时间主要在反向：比该阶段的中位"
        "数多 1.00 s。每列为该步中计算最慢的进程。");
}

TEST_CASE("in a median step a slow rank computes and the others wait for it") {
  const auto figures = figures_of({two_ranks()});
  const StackRowsChart& chart = ranks_in(figures);
  REQUIRE(chart.rows.size() == 2);
  CHECK(chart.rows[0].label == "h:0");
  CHECK(chart.rows[0].value_text == "700 ms");
  check_values(chart.rows[0].values, {0.2, 0.4, 0.1, 0.35, 0.0});
  check_values(chart.rows[1].values, {0.3, 0.5, 0.1, 0.15, 0.0});
  CHECK(figures[2].caption ==
        "Step 4, a median one: 1.05 s. Beside each rank stands how long it computed (1 to 3): h:1 "
        "longest, 900 ms; h:0 shortest, 700 ms. A rank that is done waits for the others, which is "
        "communication that nothing hides.");
  CHECK(figures_of({two_ranks()}, Lang::zh).at(2).caption ==
        "第 4 步（中位）：1.05 s。各进程右侧为其计算用时（1 至 3）：h:1 最长，900 ms；h:0 最短，"
        "700 ms。先完成的进程等待其他进程，表现为未隐藏的通信。");
}

TEST_CASE("what a step has beside its phases is all else, and a bubble is a share of the step") {
  Record record = timed({1.0, 1.0});
  add_rank(record, 0, {0.2, 0.2}, {0.3, 0.3}, {0.1, 0.1});
  record.add("bubble_share", record.entity({"h", "rank", "0"}), {0.2, 0.2});
  const auto figures = figures_of({std::move(record)});
  REQUIRE(figures.size() == 2);  // one rank has nobody beside it
  const StackChart& chart = phases_in(figures);
  CHECK(chart.parts[4].label == "pipeline bubble");
  check_values(chart.columns[0].values, {0.2, 0.3, 0.1, 0.1, 0.2, 0.1});
  CHECK(figures[1].caption ==
        "2 timed steps, their phases from the bottom in the legend's order. Step 1 took longest, "
        "1.00 s; the median is 1.00 s.");
}

TEST_CASE("the stall of a checkpoint stands at the step that it followed") {
  Record record = two_ranks();
  record.params.set("checkpoint-every", int64_t{5});
  record.params.set("warm-up-steps", int64_t{1});
  record.facts["resumed_at"] = Said("12");  // so steps 14 to 17 are timed
  for (const int rank : {0, 1})
    record.add("checkpoint_seconds", record.entity({"h", "rank", std::to_string(rank)}),
               {rank == 0 ? 0.5 : 0.75});
  auto figures = figures_of({record});
  CHECK(phases_in(figures).columns[0].at == 14);
  CHECK(phases_in(figures).below == std::vector<Point>{{15, 0.75}});
  CHECK(figures[1].caption.find("Below: 1 checkpoint; no step ran while it was written, 750 ms.") !=
        std::string::npos);
  record.params.set("checkpoint-every", int64_t{2});  // behind 14 and 16: one more than there is
  CHECK(phases_in(figures_of({record})).below.empty());
  for (Metric& m : record.metrics) {
    if (m.name == "checkpoint_seconds") m.samples = {0.5, 2.0};
  }
  figures = figures_of({record});
  CHECK(phases_in(figures).below == std::vector<Point>{{14, 0.5}, {16, 2.0}});
  CHECK(figures[1].caption.find("Below: 2 checkpoints; no step ran while one was written, 500 ms "
                                "to 2.00 s.") != std::string::npos);
  record.params.set("checkpoint-every", int64_t{0});
  CHECK(phases_in(figures_of({record})).below.empty());
}

TEST_CASE("a checkpoint behind a step of the warm-up is not drawn") {
  Record record = two_ranks();
  record.params.set("checkpoint-every", int64_t{3});
  record.params.set("warm-up-steps", int64_t{4});  // steps 5 to 8 are timed
  record.add("checkpoint_seconds", record.entity({"h", "rank", "0"}), {0.25, 0.5});
  CHECK(phases_in(figures_of({std::move(record)})).below == std::vector<Point>{{6, 0.5}});
}

TEST_CASE("a rank whose phases are not those of each step is left out, and none is invented") {
  Record record = two_ranks();
  add_rank(record, 2, {0.2, 0.2}, {0.4, 0.4}, {0.3, 0.3});
  record.add("forward_seconds", record.entity({"h", "rank", "3"}), {0.2, 0.2, 0.2, 0.2});
  auto figures = figures_of({record});
  CHECK(ranks_in(figures).rows.size() == 2);
  for (const size_t i : {1, 2})
    CHECK(figures[i].caption.ends_with(" 2 ranks without the phases of each step are left out."));
  for (Metric& m : record.metrics) {
    if (m.name == "backward_seconds") m.samples.keep_summary();
  }
  CHECK(figures_of({record}).size() == 1);
  record = two_ranks();
  for (Metric& m : record.metrics) {
    if (m.name == "step_seconds") m.samples = {1.0, 0.0, 2.0, 1.0};
  }
  CHECK(figures_of({record}).size() == 1);
  record = two_ranks();
  for (Metric& m : record.metrics) {
    if (m.name == "step_seconds") m.samples.keep_summary();
  }
  CHECK(figures_of({record}).empty());
}

TEST_CASE("phases that no step can have are drawn as nothing") {
  Record record = timed({1.0, 1e90});
  add_rank(record, 0, {-5, 3}, {0.5, 1e99}, {0.1, -1e99});
  const auto figures = figures_of({std::move(record)});
  check_values(phases_in(figures).columns[0].values, {0, 0.5, 0.1, 0.1, 0.3});
  const std::string svg = draw(figures.at(1).chart, "i", "t", "d");
  for (const char* wrong : {"nan", "inf"}) CHECK(svg.find(wrong) == std::string::npos);
}

TEST_CASE("of many ranks the two ends are drawn") {
  Record record = timed({1.0, 1.0});
  for (int rank = 0; rank < 1000; ++rank) {
    const double forward = 0.1 + 1e-4 * ((rank * 7) % 1000);
    add_rank(record, rank, {forward, forward}, {0.3, 0.3}, {0.5 - forward, 0.5 - forward});
  }
  const auto figures = figures_of({std::move(record)});
  const StackRowsChart& chart = ranks_in(figures);
  REQUIRE(chart.rows.size() == 16);
  CHECK(chart.rows[0].label == "h:857");  // 857 · 7 = 5999
  CHECK(chart.rows[7].values[0] == doctest::Approx(0.1992));
  CHECK(chart.rows[8].values[0] == doctest::Approx(0.1007));
  CHECK(chart.rows[15].label == "h:0");
  CHECK(figures[2].caption.ends_with(
      " The 8 ranks that computed longest and the 8 that computed shortest, of 1000."));
}

TEST_CASE("of many steps the longest of each run is drawn") {
  std::vector<double> seconds(10000, 1.0), forward(10000, 0.2), backward(10000, 0.4);
  seconds[5000] = 3;
  backward[5000] = 2;
  Record record = timed(seconds);
  add_rank(record, 0, forward, backward, std::vector<double>(10000, 0.1));
  record.params.set("warm-up-steps", int64_t{3});
  const auto figures = figures_of({std::move(record)});
  const StackChart& chart = phases_in(figures);
  CHECK(chart.width == 84);
  REQUIRE(chart.columns.size() == 120);
  CHECK(chart.columns[0].at == doctest::Approx(4 + 41.5));
  size_t longest = 0;
  for (const StackColumn& column : chart.columns)
    longest += std::accumulate(column.values.begin(), column.values.end(), 0.0) > 2.9 ? 1 : 0;
  CHECK(longest == 1);
  CHECK(figures[1].caption ==
        "10000 timed steps, their phases from the bottom in the legend's order. Step 5004 took "
        "longest, 3.00 s; the median is 1.00 s. Most of what it "
        "took longer is backward: 1.60 s above the median of this phase. Each column is the "
        "longest of 84 steps.");
  CHECK(draw(figures[1].chart, "i", "t", "d").size() < 30000);
}
