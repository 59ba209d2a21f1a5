// How the report shows a training step: the waterfall's arithmetic, and when there is no figure.
#include <doctest/doctest.h>

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

std::vector<Figure> figures_of(std::vector<Record> records) {
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
  const Texts texts(Lang::en);
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
