#include "core/messages/texts.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "core/error.h"
#include "core/messages/said_tables.h"
#include "core/messages/text_charts.h"
#include "core/messages/text_names.h"
#include "core/messages/text_reasons.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kTexts[] = {
    {"language", "en", "zh-CN"},
    {"list.clauses", "; ", "；"},
    {"list.names", ", ", "、"},
    {"said.of", "{0}: {1}", "{0}：{1}"},
    {"said.next", "{0}; next: {1}", "{0}；下一步：{1}"},
    {"said.because", "{0} ({1})", "{0}（{1}）"},
    {"check.value_is", "the value is {0}", "数值为 {0}"},
    {"list.more", "and {0} more", "等另外 {0} 项"},

    {"head.document", "Acceptance report", "验收报告"},
    {"head.profile", "Profile {0} (sha256 {1})", "验收配置 {0}（sha256 {1}）"},
    {"head.period", "Campaign {0}, {1} to {2}", "测试批次 {0}，{1} 至 {2}"},
    {"head.unfinished", "Campaign {0}, begun {1}, not finished", "测试批次 {0}，开始于 {1}，尚未结束"},
    {"head.hosts.one", "{0} host: {1}", "{0} 台主机：{1}"},
    {"head.hosts.many", "{0} hosts: {1}", "{0} 台主机：{1}"},
    {"head.tool", "Measured and reported by clusterbench {0} (commit {1})", "由 clusterbench {0} 测试并出具（提交 {1}）"},
    {"head.tool_modified", ", built from modified sources", "，由改动过的源码构建"},
    {"footer", "Campaign {0} · clusterbench {1}", "测试批次 {0} · clusterbench {1}"},

    {"state.pass", "pass", "通过"},
    {"state.warn", "warning", "警戒"},
    {"state.fail", "fail", "不通过"},
    {"state.incomplete", "not measured", "未测"},
    {"state.not-applicable", "not applicable", "不适用"},
    {"state.waived", "waived", "让步接收"},
    {"counts.heading", "Criteria by result", "判据结果统计"},

    {"verdict.pass", "Accepted", "通过"},
    {"verdict.waived", "Accepted with waivers", "通过（含让步接收项）"},
    {"verdict.fail", "Not accepted", "不通过"},
    {"verdict.incomplete", "Incomplete, not accepted", "未完成，不予通过"},
    {"verdict.nothing", "No criterion was judged.", "没有任何判据得到判定。"},
    {"verdict.doubt", "The evidence is not as the run left it, which blocks acceptance: {0}.", "测试证据与运行结束时不一致，因此不能验收：{0}。"},
    {"verdict.few", "{0} of {1} criteria that can fail apply to these hosts, and at least half must: use a profile that fits them.", "能判不通过的 {1} 项判据中只有 {0} 项适用于这些主机，至少须有一半：请使用与主机相符的配置。"},
    {"verdict.test_profile", "Test profile: scripted figures, which say nothing of a machine.", "自检配置：数值由脚本给出，不反映任何机器。"},
    {"verdict.met.one", "{0} criterion is met.", "{0} 项判据通过。"},
    {"verdict.met.many", "{0} criteria are met.", "{0} 项判据通过。"},
    {"verdict.warnings.one", "{0} warning does not stop acceptance.", "{0} 项警戒，不影响验收结论。"},
    {"verdict.warnings.many", "{0} warnings do not stop acceptance.", "{0} 项警戒，不影响验收结论。"},
    {"verdict.waivers.one", "{0} shortfall is waived; see the waivers.", "{0} 项偏差已让步接收，见让步接收清单。"},
    {"verdict.waivers.many", "{0} shortfalls are waived; see the waivers.", "{0} 项偏差已让步接收，见让步接收清单。"},
    {"verdict.failed.one", "{0} criterion fails.", "{0} 项判据不通过。"},
    {"verdict.failed.many", "{0} criteria fail.", "{0} 项判据不通过。"},
    {"verdict.missing.one", "{0} criterion was not measured, which blocks acceptance.", "{0} 项判据未测，因此不能验收。"},
    {"verdict.missing.many", "{0} criteria were not measured, which blocks acceptance.", "{0} 项判据未测，因此不能验收。"},
    {"verdict.others.one", "{0} other criterion does not stand in the way.", "其余 {0} 项判据不构成障碍。"},
    {"verdict.others.many", "The other {0} criteria do not stand in the way.", "其余 {0} 项判据不构成障碍。"},
    {"lacks.heading", "It would be accepted if:", "满足以下条件即可通过："},
    {"lacks.value", "{0}: {1} everywhere; the worst, {2}, has {3}", "{0}：各处均达到 {1}；当前最差为 {2}，实测值 {3}"},
    {"lacks.evidence", "The evidence is restored as the run left it, or the campaign is run anew", "恢复运行结束时的测试证据，或重新运行整个批次"},
    {"lacks.step", "Step {0}: every job ends well, and every point of it is measured", "步骤 {0}：全部作业正常结束，全部测点均有结果"},
    {"lacks.step_data", "Step {0}: every check passes, also on {1}", "步骤 {0}：所有检查均通过，包括 {1}"},
    {"lacks.measure", "{0}: is measured (step {1})", "{0}：完成测试（步骤 {1}）"},
    {"lacks.check", "{0}: every check passes; see {1}", "{0}：所有检查均通过；见 {1}"},
    {"expect.fails", "not as ordered: {0}; not shown: {1}", "与订单不符：{0} 项；未能证实：{1} 项"},
    {"expect.incomplete", "not shown: {0}", "未能证实：{0} 项"},
    {"expect.good.one", "as ordered: {0} host", "与订单一致：{0} 台主机"},
    {"expect.good.many", "as ordered: {0} hosts", "与订单一致：{0} 台主机"},
    {"trend.module", "module", "光模块"},
    {"trend.figure", "figure", "指标"},
    {"trend.points", "documents", "文档数"},
    {"trend.per_day", "per day", "每日变化"},
    {"trend.days", "days to the limit", "距限值天数"},
    {"trend.never", "never", "不会"},
    {"trend.too_few", "too few documents", "文档过少"},
    {"trend.outdated", "no light in the newest document: look at the module now", "最新文档中无光：请立即检查该光模块"},
    {"trend.pays", "to clean or replace it pays", "建议清洁或更换"},
    {"lacks.ordered", "{0}: every part is as ordered; see {1}", "{0}：所有部件与订单一致；见 {1}"},
    {"lacks.uniform", "{0}: all hosts are equal; see {1}", "{0}：各主机一致；见 {1}"},
    {"lacks.somewhere", "the table of open items", "遗留项表"},

    {"domain.host", "Host", "主机"},
    {"domain.compute", "Compute", "计算"},
    {"domain.memory", "Memory", "内存"},
    {"domain.interconnect", "Interconnect", "节点内互联"},
    {"domain.network", "Network", "网络"},
    {"domain.storage", "Storage", "存储"},
    {"domain.stability", "Stability", "稳定性"},
    {"domain.training", "Training", "训练"},
    {"domain_text.no_figures", "There is no figure for this domain: nothing was measured.", "本项没有数据：未进行有效测试。"},
    {"domain_text.step_absent", "Step {0}: no figure. See the jobs that did not finish for the reason and the log.", "步骤 {0}：没有数据。原因与日志见未完成的作业。"},
    {"domain_text.step_na", "Step {0}: not applicable to these hosts.", "步骤 {0}：不适用于这些主机。"},

    {"source.standard", "standard", "标准"},
    {"source.vendor", "vendor", "厂商规格"},
    {"source.measured", "measured", "实测基线"},
    {"source.contract", "contract", "合同"},
    {"source.practice", "practice", "行业惯例"},
    {"source.advisory", "warns only", "仅警戒"},

    {"open.heading", "Open items", "遗留项"},
    {"open.caption", "What fails, was not measured or warns, with the worst entity and the next step.", "不通过、未测与警戒项，列出最差对象和下一步措施。"},
    {"open.none", "There is none: no criterion fails, none is unmeasured, none warns.", "无：没有不通过、未测或警戒的判据。"},
    {"open.finding", "{0} measured, {1} required.", "实测值 {0}，要求 {1}。"},
    {"open.no_reason", "No reason was recorded.", "未记录原因。"},

    {"suspects.warned.one", "{0} host of {1} has a warning only, which does not stop acceptance.", "{1} 台主机中有 {0} 台仅有警戒，不影响验收结论。"},
    {"suspects.warned.many", "{0} hosts of {1} have warnings only, which do not stop acceptance.", "{1} 台主机中有 {0} 台仅有警戒，不影响验收结论。"},
    {"suspects.caption.one", "{0} host of {1} has something to mend or to measure; the worst first.", "{1} 台主机中有 {0} 台需要整改或补测，最差者在前。"},
    {"suspects.caption.many", "{0} hosts of {1} have something to mend or to measure; the worst first.", "{1} 台主机中有 {0} 台需要整改或补测，最差者在前。"},
    {"suspects.shared.one", "{0} pair or group of hosts is listed too.", "另列出 {0} 个主机对或主机组。"},
    {"suspects.shared.many", "{0} pairs or groups of hosts are listed too.", "另列出 {0} 个主机对或主机组。"},
    {"suspects.left_out", "{0} more lines are in the JSON output.", "另有 {0} 行见 JSON 输出。"},
    {"criteria.heading", "Requirements", "判据"},
    {"criteria.caption", "All criteria, worst first. Ratio is measured over required; the ceiling is the physical or measured upper bound for the worst entity.", "全部判据，最差者在前。比值为实测值除以要求值；上限为最差对象的物理或实测上限。"},
    {"criteria.none", "The profile has no criterion.", "该验收配置没有判据。"},
    {"criteria.of", "(of {0})", "（共 {0} 个）"},
    {"criteria.not_measured", "not measured", "未测"},
    {"criteria.wrong_data", "data wrong, no figure", "数据错误，无数值"},
    {"criteria.spread", "{0} between the parts of each host", "每台主机各部件之间 {0}"},
    {"criteria.failed", "{0} failed", "{0} 项未通过"},
    {"criteria.unequal", "differs", "不一致"},
    {"criteria.no_difference", "no difference", "一致"},
    {"criteria.no_limit", "every check passes", "全部检查通过"},
    {"criteria.of_ceiling", "{0} of ceiling", "上限的 {0}"},
    {"criteria.of_fleet", "{0} of the median of all", "全部中位数的 {0}"},
    {"criteria.as_ordered", "as ordered", "与订单一致"},
    {"criteria.ordered", "as ordered", "与订单一致"},
    {"criteria.not_ordered", "not as ordered", "与订单不符"},
    {"criteria.equal", "equal on all hosts", "各主机一致"},
    {"criteria.ceilings", "How the ceilings were obtained:", "上限的来源："},
    {"criteria.ceiling_how", "{0}: {1}", "{0}：{1}"},
    {"criteria.na_heading", "Not applicable, with the reason:", "不适用项及原因："},
    {"criteria.na", "{0}: {1}", "{0}：{1}"},

    {"outliers.heading", "Behind their peers", "明显落后于同类"},
    {"outliers.caption", "Parts far behind the median of their peers (robust z above 3.5 at a false-discovery rate of 1 %). A finding to look into, not a verdict: only the requirements decide.", "明显落后于同类中位数的部件（稳健 z 大于 3.5，错误发现率 1 %）。仅供排查，不是结论：结论只由判据决定。"},
    {"checks.caption", "Checks of correctness. Wrong data yields no number.", "正确性检查。数据错误时不给出数值。"},
    {"checks.passed", "{0} of {1}", "{0} / {1}"},
    {"method.heading", "How it was measured:", "测试方法："},
    {"method.fact", "{0}: {1} = {2}", "{0}：{1} = {2}"},
    {"method.note", "{0}: {1}", "{0}：{1}"},
    {"method.some", "{0} ({1} of {2} records)", "{0}（{2} 条记录中的 {1} 条）"},

    {"hosts.heading", "Hosts and uniformity", "主机清单与一致性"},
    {"hosts.read", "{0} of {1} hosts could be read: {2}.", "{1} 台主机中读取到 {0} 台：{2}。"},
    {"hosts.none_read", "None of {0} hosts could be read.", "{0} 台主机均未能读取。"},
    {"hosts.missing", "No inventory of: {0}. They stay in this report as not measured.", "未取得清单的主机：{0}。它们在本报告中记为未测。"},
    {"hosts.single", "One host: there is nothing to compare it with.", "只有一台主机，无从比较。"},
    {"hosts.uniform", "All hosts are equal in {0} compared attributes.", "各主机的 {0} 项属性全部一致。"},
    {"hosts.differ.one", "{0} of {1} compared attributes differs between hosts.", "{1} 项属性中有 {0} 项在主机间不一致。"},
    {"hosts.differ.many", "{0} of {1} compared attributes differ between hosts.", "{1} 项属性中有 {0} 项在主机间不一致。"},
    {"hosts.differences", "What differs, and which hosts are odd.", "不一致的属性及对应主机。"},
    {"hosts.no_majority", "no majority", "无多数值"},
    {"hosts.odd", "{0}: {1}", "{0}：{1}"},
    {"hosts.more_differences", "{0} more differences are in the raw data.", "另有 {0} 项差异见原始数据。"},
    {"hosts.inventory", "What {0}, the usual host, consists of; the compared attributes in which others differ are listed above.", "代表主机 {0} 的配置清单；其他主机在比较属性上的差异见上表。"},
    {"assets.caption", "Assets: what was delivered and measured, host by host.", "资产清单：逐台列出交付并测试的设备。"},
    {"hosts.unavailable_heading", "What could not be read, with the reason:", "未能读取的属性及原因："},
    {"hosts.unavailable", "{0} {1}, {2}: {3}", "{0} {1}，{2}：{3}"},

    {"jobs.heading", "Jobs", "作业"},
    {"jobs.done", "{0} of {1} jobs are done.", "{1} 个作业中完成 {0} 个。"},
    {"jobs.caption", "Jobs that are not done, with the reason, the next step and the log in the campaign directory.", "未完成的作业，列出原因、下一步措施以及测试目录中的日志。"},
    {"jobs.left_out", "{0} more jobs are not done; campaign.json lists them all.", "另有 {0} 个作业未完成，全部列于 campaign.json。"},
    {"jobs.no_number", "Records without a number:", "没有数值的记录："},
    {"jobs.skipped", "{0} on {1} was skipped: {2}", "{0}（{1}）已跳过：{2}"},
    {"jobs.errored", "{0} on {1} failed at {2}: {3}", "{0}（{1}）在 {2} 处出错：{3}"},
    {"jobs.partial", "{0} on {1} ended early: {2}", "{0}（{1}）提前结束：{2}"},
    {"jobs.repeated", "Jobs that were measured more than once; every attempt's document is kept and its failed checks count:", "测量多于一次的作业；每次测量的文件均保留，其中未通过的检查均计入："},
    {"jobs.attempts", "{0} on {1}: {2}", "{0}（{1}）：{2}"},
    {"jobs.older_documents", "What was measured was written by an older clusterbench (result/1), which told its notes and reasons in English alone.", "部分记录由旧版 clusterbench 写成（result/1），其说明与原因只有英文。"},
    {"jobs.warnings", "About the campaign directory:", "关于测试目录："},
    {"job.done", "done", "完成"},
    {"job.failed", "failed", "失败"},
    {"job.deadline", "deadline passed", "超时"},
    {"job.not_applicable", "not applicable", "不适用"},
    {"job.missing", "did not run", "未运行"},
    {"job.all_hosts", "all hosts", "全部主机"},

    {"waivers.heading", "Waivers", "让步接收清单"},
    {"waivers.covers", "{0}: {1} parts", "{0}：{1} 个部件"},
    {"waivers.caption", "Shortfalls that the customer accepts for a while. Beyond its own limit a waived value still fails.", "需方在期限内接受的偏差。超出让步接收限值仍判为不通过。"},
    {"checklist.heading", "To be checked by hand", "人工检查项"},
    {"checklist.caption", "Items that no measurement covers; ticked and initialled by those who sign.", "测试无法覆盖的项目，由签署人勾选并签名。"},
    {"checklist.box", "☐ yes  ☐ no", "☐ 是  ☐ 否"},

    {"scope.heading", "Scope and basis", "范围与依据"},
    {"scope.caption", "What is delivered, by whom, to whom.", "交付内容与双方。"},
    {"scope.project", "Project", "项目"},
    {"scope.contract", "Contract", "合同编号"},
    {"scope.location", "Location", "地点"},
    {"scope.version", "Version of this document", "文档版本"},
    {"scope.scope", "Scope", "范围"},
    {"scope.basis", "What each test rests on: the item of the standard and the clause of the contract.", "各测试项的依据：标准条目与合同条款。"},
    {"scope.standard", "The items of {0} §7 were matched by their titles in its table of contents; its text was not read, and nothing here states conformity to it.", "与 {0} 第 7 章各条目的对应仅依据其目录标题，未核对标准正文，不构成符合该标准的声明。"},
    {"standard.host", "scale of compute", "算力规模"},
    {"standard.compute", "scale of compute", "算力规模"},
    {"standard.memory", "scale of compute", "算力规模"},
    {"standard.interconnect", "communication performance", "通信性能"},
    {"standard.network", "communication performance", "通信性能"},
    {"standard.storage", "storage performance", "存储性能"},
    {"standard.stability", "availability of compute", "算力可用度"},
    {"standard.training", "training performance", "训练性能"},
    {"issues.heading", "Issue tracking", "问题跟踪表"},
    {"issues.caption", "An issue is closed only by a campaign in which the part passes.", "只有该部件在复测中通过，问题方可关闭。"},
    {"issues.open", "open", "未关闭"},
    {"issues.closed", "closed {0}, re-test {1}", "{0} 关闭，复测 {1}"},
    {"severity.critical", "critical", "致命"},
    {"severity.major", "major", "严重"},
    {"severity.minor", "minor", "一般"},
    {"severity.note", "note", "提示"},
    {"sheet.heading", "Test-case sheets", "测试用例单"},
    {"sheet.note", "One sheet per criterion; full commands are under “How to repeat this”.", "每项判据一张；完整命令见“如何复现”。"},
    {"sheet.purpose", "Purpose", "测试目的"},
    {"sheet.basis", "Basis", "依据"},
    {"sheet.needs", "Preconditions", "预置条件"},
    {"sheet.hosts_at_most", "at most {0} hosts", "不超过 {0} 台主机"},
    {"sheet.no_needs", "host reachable, no other load", "主机可达，无其他负载"},
    {"sheet.command", "Tool and command", "测试工具与命令"},
    {"sheet.expected", "Expected", "预期结果"},
    {"sheet.result", "Measured", "实测结果"},
    {"sheet.measured", "{0}; worst {1}, of {2} judged", "{0}；最差对象 {1}，共判定 {2} 个"},
    {"sheet.wrong", "data wrong, no figure; worst {0}, of {1} judged", "数据错误，无数值；最差对象 {0}，共判定 {1} 个"},
    {"sheet.none_failed", "{0}, of {1} judged", "{0}，共判定 {1} 个"},
    {"sheet.verdict", "Verdict", "结论"},
    {"statistic.median", "median", "中位数"},
    {"statistic.mean", "mean", "均值"},
    {"statistic.min", "minimum", "最小值"},
    {"statistic.max", "maximum", "最大值"},
    {"sheet.waiver", "Deviation or waiver", "偏差/让步接收单号"},
    {"sheet.remark", "Remark", "备注"},
    {"sheet.people", "Tester, witness, date", "测试人、见证人、日期"},
    {"sheet.blanks", "____________   ____________   ____________", "____________   ____________   ____________"},
    {"repeat.heading", "How to repeat this", "如何复现"},
    {"repeat.text", "The commands as they were run. A repetition on the same hosts with the same profile gives comparable figures; report and gate can be repeated anywhere from the campaign directory DIR, without these hosts.", "以下为实际执行的命令。在相同主机上以相同配置重复测试可得到可比的数据；report 与 gate 只需测试目录 DIR，可在任何机器上重复。"},
    {"repeat.whole", "The whole acceptance", "整个验收"},
    {"repeat.steps", "Each step", "各步骤"},
    {"repeat.more_jobs.one", "(and {0} more job, alike)", "（另有 {0} 个同类作业）"},
    {"repeat.more_jobs.many", "(and {0} more jobs, alike)", "（另有 {0} 个同类作业）"},
    {"repeat.environment", "Environment that the measurements saw", "测试时的环境变量"},
    {"repeat.no_environment", "None of the recorded environment variables was set.", "所记录的环境变量均未设置。"},
    {"repeat.tool", "clusterbench {0}, commit {1}", "clusterbench {0}，提交 {1}"},
    {"repeat.build", "Built with: {0}", "构建环境：{0}"},

    {"manifest.heading", "Raw data", "原始数据"},
    {"manifest.none", "The campaign directory has no manifest yet.", "测试目录尚无清单。"},
    {"manifest.text", "{0} files. The sha256 of this list, one line \"digest  file\" each, is {1}.", "共 {0} 个文件。本清单（每行“摘要  文件”）的 sha256 为 {1}。"},
    {"manifest.caption", "Files of the campaign directory and their digests.", "测试目录中的文件及其摘要。"},
    {"manifest.more", "{0} more files are listed in MANIFEST.sha256 of the campaign directory.", "另有 {0} 个文件，见测试目录中的 MANIFEST.sha256。"},

    {"sign.heading", "Conclusion and signatures", "结论与签署"},
    {"sign.about", "What those below sign", "签署内容"},
    {"sign.document", "Document number", "文件编号"},
    {"sign.number", "No. {0}", "编号 {0}"},
    {"sign.campaign", "Campaign", "测试批次"},
    {"sign.hosts.one", "{0} host", "{0} 台主机"},
    {"sign.hosts.many", "{0} hosts", "{0} 台主机"},
    {"sign.period", "{0} to {1}", "{0} 至 {1}"},
    {"sign.unfinished", "begun {0}, not finished", "开始于 {0}，尚未结束"},
    {"sign.profile", "Profile", "验收配置"},
    {"sign.result", "Result of the measurements", "测试结论"},
    {"sign.counts", "Criteria", "判据统计"},
    {"sign.manifest", "SHA-256 of the manifest", "原始数据清单 SHA-256"},
    {"sign.digest", "SHA-256 of the verdict", "判定结果 SHA-256"},
    {"sign.caption", "Signatures given electronically, as this report found them.", "电子签名及本报告的核验结果。"},
    {"sign.check", "Check", "核验"},
    {"sign.role", "For", "签署方"},
    {"sign.person", "Name, title, company", "姓名、职务、单位"},
    {"sign.verdict", "Verdict", "结论"},
    {"sign.at", "Signed", "签署时间"},
    {"sign.stamped", "(time stamp {0}, its authority not checked here)", "（时间戳 {0}，此处未核验签发机构）"},
    {"sign.state.valid", "✓ valid, key {0}", "✓ 有效，公钥 {0}"},
    {"sign.state.invalid", "✗ INVALID: changed since it was signed", "✗ 无效：签署后内容被改动"},
    {"sign.state.no-key", "? without a key: anybody can have written it", "? 未使用密钥：无法确认签署人"},
    {"sign.state.unknown-key", "? key not known to this report: {0}", "? 公钥未列入受信清单：{0}"},
    {"sign.problem", "✗ signatures: {0}", "✗ 签名核验：{0}"},
    {"sign.unauthenticated", "? not authenticated: {0}", "? 未经认证：{0}"},
    {"sign.said.accepted", "accepted", "通过"},
    {"sign.said.conditional", "accepted on conditions", "有条件通过"},
    {"sign.said.rejected", "rejected", "不通过"},
    {"sign.accepted", "accepted", "通过"},
    {"sign.conditional", "accepted on condition that the open items are closed by", "有条件通过，遗留项整改期限"},
    {"sign.rejected", "rejected", "不通过"},
    {"sign.supplier", "Supplier", "供方"},
    {"sign.customer", "Customer", "需方"},
    {"sign.supervisor", "Supervisor", "监理方"},
    {"sign.witness", "Witness", "见证方"},
    {"sign.party", "{0}: {1}", "{0}：{1}"},
    {"sign.open_item", "open item {0}, to be closed by {1} (signed by {2})", "遗留项 {0}，整改期限 {1}（签署人 {2}）"},
    {"sign.waiver", "waiver {0}: {1}, {2}: {3}; approved by {4}, {5}, valid until {6}", "让步接收 {0}：{1}，{2}：{3}；批准人 {4}，单号 {5}，有效期至 {6}"},
    {"sign.company", "Company (seal)", "单位（盖章）"},
    {"sign.name", "Name", "姓名"},
    {"sign.title", "Title", "职务"},
    {"sign.date", "Date", "日期"},
    {"sign.signature", "Signature", "签字"},

};
// clang-format on

const TextRow* find_row(std::string_view id) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const TextRow*> out;
    for (const TextRow& row : all_texts()) out.emplace(row.id, &row);
    return out;
  }();
  const auto found = index.find(id);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace

std::span<const TextRow> all_texts() {
  static const std::vector<TextRow> all = [] {
    std::vector<TextRow> out(std::begin(kTexts), std::end(kTexts));
    for (const auto more :
         {chart_texts(), reason_texts(), name_texts(), said_campaign(), said_fabric(), said_gpu(),
          said_host(), said_locate(), said_network(), said_soak(), said_storage(), said_training(),
          said_workloads(), said_xid(), value_texts()})
      out.insert(out.end(), more.begin(), more.end());
    return out;
  }();
  return all;
}

bool has_text(std::string_view id) { return find_row(id) != nullptr; }

std::string_view raw_text(Lang lang, std::string_view id) {
  const TextRow* row = find_row(id);
  if (row == nullptr) throw Error("the report has no text " + std::string(id));
  return lang == Lang::zh ? row->zh : row->en;
}

std::string say(Lang lang, const Message& message) {
  if (const auto sentence = find_sentence(lang, message)) return *sentence;
  throw Error(
      fmt::format("the report has no text {} of {} arguments", message.id, message.args.size()));
}

std::string say_all(Lang lang, const std::vector<Message>& messages) {
  std::string out;
  for (const Message& m : messages)
    out += (out.empty() ? "" : lang == Lang::zh ? "；" : "; ") + say(lang, m);
  return out;
}

Message count_message(const std::string& id, size_t number) {
  return {id + (number == 1 ? ".one" : ".many"), {std::to_string(number)}};
}

}  // namespace cb
