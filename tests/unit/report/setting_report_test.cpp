#include "report/setting_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace cb;
using nlohmann::json;

namespace {

const MetricDef kSettingMetric{"bus_bytes_per_second", "bytes_per_second", Better::higher, ""};

std::vector<SettingVerdict> two_settings() {
  SettingVerdict sharp{.rule = known_settings().at(1), .points = {}};
  SettingPoint good{.params = {}, .why = {"setting.reached", {"1.5", "1.3"}}};
  good.params.set("op", std::string("all_reduce"));
  good.params.set("size", int64_t{1} << 30);
  good.off = 100e9;
  good.on = 150e9;
  good.ratio = 1.5;
  good.low = 1.45;
  good.high = 1.55;
  good.control = -0.004;
  good.proof_off = good.proof_on = SettingProof::shown;
  good.state = State::pass;
  sharp.points.push_back(good);
  SettingVerdict pxn{.rule = known_settings().at(2), .points = {}};
  SettingPoint open{.params = good.params, .why = {"setting.untold", {"pxn_connections"}}};
  open.proof_off = SettingProof::shown;
  pxn.points.push_back(open);
  return {sharp, pxn};
}

}  // namespace

TEST_CASE("the table of settings, in both languages") {
  CHECK(setting_markdown(two_settings(), kSettingMetric, Lang::en) ==
        "# Settings of NCCL, off and on\n\nverdict: **not measured**\n\n"
        "| setting | point | off | on | on over off | 95 % | A/A | proof off, on | verdict |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
        "| sharp | all\\_reduce 1G | 100 GB/s | 150 GB/s | × 1.5 | 1.45 – 1.55 | 0.4 % | shown, "
        "shown | pass |\n"
        "| pxn | all\\_reduce 1G | – | – | – | – | – | shown, untold | not measured |\n\n"
        "- sharp all\\_reduce 1G: × 1.5, at least × 1.3 is required; the log proves both sides\n"
        "- pxn all\\_reduce 1G: the library's log does not tell (pxn\\_connections): unproved\n");
  const std::string zh = setting_markdown(two_settings(), kSettingMetric, Lang::zh);
  CHECK(zh.find("| 设置 | 测量点 | 关 | 开 |") != std::string::npos);
  CHECK(zh.find("× 1.5，要求不低于 × 1.3；日志证实了两侧") != std::string::npos);
}

TEST_CASE("the document has what was measured, and not what was not") {
  const json document = json::parse(setting_json(two_settings(), kSettingMetric));
  CHECK(document["schema"] == "clusterbench.settings/1");
  CHECK(document["verdict"] == "incomplete");
  const json& sharp = document["settings"][0];
  CHECK(sharp["id"] == "sharp");
  CHECK(sharp["variable"] == "NCCL_COLLNET_ENABLE");
  CHECK(sharp["least_ratio"] == 1.3);
  CHECK(sharp["points"][0]["ratio"] == 1.5);
  CHECK(sharp["points"][0]["control_share"] == -0.004);
  CHECK(sharp["points"][0]["proof_on"] == "shown");
  const json& pxn = document["settings"][1];
  CHECK_FALSE(pxn.contains("least_ratio"));
  CHECK_FALSE(pxn["points"][0].contains("ratio"));
  CHECK(pxn["points"][0]["proof_on"] == "untold");
  CHECK(pxn["points"][0]["reason"]["zh"].get<std::string>().find("未获证实") != std::string::npos);
}
