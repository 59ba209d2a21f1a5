#include <doctest/doctest.h>
#include <fmt/args.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "example_campaign.h"
#include "judge/verdict.h"
#include "report/phrases.h"
#include "report/view.h"

using namespace cb;

namespace {

// Everything that a reader of the page sees, piece by piece.
std::vector<std::string> texts_of(const View& view) {
  std::vector<std::string> texts = view.counterfactual;
  texts.insert(texts.end(), view.conclusion_items.begin(), view.conclusion_items.end());
  texts.insert(texts.end(), view.facts.begin(), view.facts.end());
  for (const Section& section : view.sections) {
    texts.push_back(section.heading);
    for (const Block& block : section.blocks) {
      if (const auto* p = std::get_if<Paragraph>(&block)) texts.push_back(p->text);
      if (const auto* i = std::get_if<Items>(&block))
        texts.insert(texts.end(), i->lines.begin(), i->lines.end());
      if (const auto* f = std::get_if<Figures>(&block)) {
        for (const Figure& figure : f->list) texts.push_back(figure.title + figure.caption);
      }
      if (const auto* t = std::get_if<Table>(&block)) {
        texts.push_back(t->caption);
        for (const Row& row : t->rows)
          texts.insert(texts.end(), row.cells.begin(), row.cells.end());
      }
    }
  }
  return texts;
}

void check_no_english(const example::Case& c, const Judgement& j) {
  // Three words of which the last two are small letters only; names, units and options are not.
  const std::regex sentence("[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}");
  for (const std::string& text :
       texts_of(build_view(c.campaign, j, c.catalogue, Texts(Lang::zh)))) {
    CAPTURE(text);
    CHECK_FALSE(std::regex_search(text, sentence));
  }
}

std::string filled(std::string_view sentence) {
  fmt::dynamic_format_arg_store<fmt::format_context> args;
  for (int i = 0; i < 9; ++i) args.push_back(fmt::format("{}7", i));
  return fmt::vformat(sentence, args);
}

}  // namespace

TEST_CASE("the Chinese report has no English sentence") {
  const example::Case c = example::mixed();
  check_no_english(c, example::judgement_of(c));
}

TEST_CASE("nor has it one of any case as note, ceiling, failed check, reason or warning") {
  for (const Phrase& phrase : all_phrases()) {
    // What lies beyond these is a command or an option, and stays as it is typed.
    if (phrase.en.find("nvidia-smi -i") != std::string_view::npos) continue;
    example::Case c = example::mixed();
    const std::string text = filled(phrase.en);
    c.campaign.warnings.push_back(text);
    size_t n = 0;
    for (Job& job : c.campaign.jobs) {
      if (!job.document) continue;
      for (Record& r : job.document->records) {
        ++n;
        r.notes.push_back(text);
        if (r.measured() && n % 3 == 0) r.outcome = Skipped{text};
        for (Check& check : r.checks) {
          check.passed = false;
          check.detail = text;
        }
        for (Metric& m : r.metrics) m.ceiling = Ceiling{1e15, text};
      }
      job.reason = text;
    }
    CAPTURE(phrase.en);
    check_no_english(c, judge(c.campaign, c.campaign.profile, {}, "2026-11-21"));
  }
}

TEST_CASE("what records say is translated by its fixed words, the rest is left alone") {
  CHECK(translated(Lang::zh,
                   "measured in this record: avx512 multiply-adds in registers on the same 2 "
                   "threads") == "本记录实测：同样 2 个线程在寄存器中执行 avx512 乘加");
  CHECK(translated(Lang::zh, "absent: the link is down") == "缺失：链路未连接");
  CHECK(translated(Lang::zh, "something new") == "something new");
  CHECK(translated(Lang::en, "the link is down") == "the link is down");
  CHECK(translated(Lang::zh, "") == "");
}

TEST_CASE("every sentence of the tables is found by itself and by no other, with its arguments") {
  std::set<std::string_view> seen;
  for (const Phrase& p : all_phrases()) {
    CAPTURE(p.en);
    CHECK(seen.insert(p.en).second);
    fmt::dynamic_format_arg_store<fmt::format_context> args;
    for (int i = 0; i < 9; ++i) {
      const std::string place = fmt::format("{{{}}}", i);
      CHECK((p.en.find(place) == std::string_view::npos) ==
            (p.zh.find(place) == std::string_view::npos));
      args.push_back(fmt::format("node{}7", i));
    }
    const std::string english = fmt::vformat(p.en, args);
    CHECK(translated(Lang::zh, english) == fmt::vformat(p.zh, args));
  }
}

TEST_CASE("a sentence put together of name, clauses and next step is translated part by part") {
  CHECK(translated(Lang::zh, "n1 rank 3: got 3, expected 4") == "n1 rank 3：得到 3，应为 4");
  CHECK(translated(Lang::zh,
                   "drops 0, out of sequence 7; PFC paused before ECN marked: check the "
                   "thresholds") == "丢包 0，乱序 7；PFC 暂停先于 ECN 标记：请检查阈值");
  CHECK(translated(Lang::zh, "mlx5_0 broke; next: look at the kernel log (dmesg) and the mount") ==
        "mlx5_0 broke；下一步：查看内核日志（dmesg）与挂载");
  CHECK(translated(Lang::zh,
                   "host n3: sends 41.0 % of the fleet's median; 7 of 7 samples low, "
                   "confidence 99.20 %") ==
        "主机 n3：发送速率为全体中位数的 41.0 %；7 个样本中 7 个偏低，置信度 99.20 %");
  CHECK(translated(Lang::zh, "a: b; c") == "a: b; c");
}

TEST_CASE("how far each rank came until an error is told in Chinese, of several ranks too") {
  const std::string one = "n1: 5 requests, 20480 bytes in 0.125 s, 2 blocks compared and right";
  CHECK(translated(Lang::zh, one) == "n1: 5 个请求，0.125 秒内 20480 字节，2 个块校验无误");
  CHECK(translated(Lang::zh, one + ", then stopped with the others; " + one + "; " + one) ==
        "n1: 5 个请求，0.125 秒内 20480 字节，2 个块校验无误，随后与其他进程一起停止；"
        "n1: 5 个请求，0.125 秒内 20480 字节，2 个块校验无误；"
        "n1: 5 个请求，0.125 秒内 20480 字节，2 个块校验无误");
}
