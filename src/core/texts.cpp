#include "core/texts.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include <fmt/args.h>

#include "core/error.h"
#include "core/text_names.h"
#include "core/text_reasons.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kTexts[] = {
    {"language", "en", "zh-CN"},
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
    {"state.waived", "waived", "豁免"},
    {"counts.heading", "Criteria by result", "判据结果统计"},

    {"verdict.pass", "Accepted", "通过"},
    {"verdict.waived", "Accepted with waivers", "有条件通过"},
    {"verdict.fail", "Not accepted", "不通过"},
    {"verdict.incomplete", "Incomplete, not accepted", "未完成，不予通过"},
    {"verdict.nothing", "No criterion was judged.", "没有任何判据得到判定。"},
    {"verdict.met.one", "{0} criterion is met.", "{0} 项判据通过。"},
    {"verdict.met.many", "{0} criteria are met.", "{0} 项判据通过。"},
    {"verdict.warnings.one", "{0} warning does not stop acceptance.", "{0} 项警戒，不影响验收结论。"},
    {"verdict.warnings.many", "{0} warnings do not stop acceptance.", "{0} 项警戒，不影响验收结论。"},
    {"verdict.waivers.one", "{0} shortfall is waived; see the waivers.", "{0} 项偏差已豁免，见豁免清单。"},
    {"verdict.waivers.many", "{0} shortfalls are waived; see the waivers.", "{0} 项偏差已豁免，见豁免清单。"},
    {"verdict.failed.one", "{0} criterion fails.", "{0} 项判据不通过。"},
    {"verdict.failed.many", "{0} criteria fail.", "{0} 项判据不通过。"},
    {"verdict.missing.one", "{0} criterion was not measured, which blocks acceptance.", "{0} 项判据未测，因此不能验收。"},
    {"verdict.missing.many", "{0} criteria were not measured, which blocks acceptance.", "{0} 项判据未测，因此不能验收。"},
    {"verdict.others.one", "{0} other criterion does not stand in the way.", "其余 {0} 项判据不构成障碍。"},
    {"verdict.others.many", "The other {0} criteria do not stand in the way.", "其余 {0} 项判据不构成障碍。"},
    {"lacks.heading", "It would be accepted if:", "满足以下条件即可通过："},
    {"lacks.value", "{0}: {1} everywhere; the worst, {2}, has {3}", "{0}：各处均达到 {1}；当前最差为 {2}，实测值 {3}"},
    {"lacks.measure", "{0}: is measured (step {1})", "{0}：完成测试（步骤 {1}）"},
    {"lacks.check", "{0}: every check passes; see {1}", "{0}：所有检查均通过；见 {1}"},
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

    {"suspects.caption.one", "{0} host of {1} has something to mend or to measure; the worst first.", "{1} 台主机中有 {0} 台需要整改或补测，最差者在前。"},
    {"suspects.caption.many", "{0} hosts of {1} have something to mend or to measure; the worst first.", "{1} 台主机中有 {0} 台需要整改或补测，最差者在前。"},
    {"suspects.left_out", "{0} more lines are in the JSON output.", "另有 {0} 行见 JSON 输出。"},
    {"criteria.heading", "Requirements", "判据"},
    {"criteria.caption", "All criteria, worst first. Ratio is measured over required; the ceiling is the physical or measured upper bound for the worst entity.", "全部判据，最差者在前。比值为实测值除以要求值；上限为最差对象的物理或实测上限。"},
    {"criteria.none", "The profile has no criterion.", "该验收配置没有判据。"},
    {"criteria.of", "(of {0})", "（共 {0} 个）"},
    {"criteria.not_measured", "not measured", "未测"},
    {"criteria.failed", "{0} failed", "{0} 项未通过"},
    {"criteria.unequal", "differs", "不一致"},
    {"criteria.no_difference", "no difference", "一致"},
    {"criteria.no_limit", "every check passes", "全部检查通过"},
    {"criteria.of_ceiling", "{0} of ceiling", "上限的 {0}"},
    {"criteria.of_fleet", "{0} of the median of all", "全部中位数的 {0}"},
    {"criteria.equal", "equal on all hosts", "各主机一致"},
    {"criteria.ceilings", "How the ceilings were obtained:", "上限的来源："},
    {"criteria.ceiling_how", "{0}: {1}", "{0}：{1}"},
    {"criteria.na_heading", "Not applicable, with the reason:", "不适用项及原因："},
    {"criteria.na", "{0}: {1}", "{0}：{1}"},

    {"outliers.heading", "Behind their peers", "明显落后于同类"},
    {"outliers.caption", "Parts far behind the median of their peers (robust z above 3.5 at a false-discovery rate of 1 %). A finding to look into, not a verdict: only the requirements decide.", "明显落后于同类中位数的部件（稳健 z 大于 3.5，错误发现率 1 %）。仅供排查，不是结论：结论只由判据决定。"},
    {"figures.caption", "Figures: the worst entity's median with its 95 % interval, beside the median and the best of all entities.", "实测数据：最差对象的中位数及其 95 % 置信区间，以及全部对象的中位数与最佳值。"},
    {"figures.sweep", "Of a sweep the table has the first, the last and the judged point; the chart shows all.", "扫描测试在表中只列首、末和判定点，图中为全部点。"},
    {"figures.left_out.one", "{0} more figure is not drawn here; its numbers are in the table.", "另有 {0} 张图未绘出，数据见表。"},
    {"figures.left_out.many", "{0} more figures are not drawn here; their numbers are in the table.", "另有 {0} 张图未绘出，数据见表。"},
    {"checks.caption", "Checks of correctness. Wrong data yields no number.", "正确性检查。数据错误时不给出数值。"},
    {"checks.passed", "{0} of {1}", "{0} / {1}"},
    {"method.heading", "How it was measured:", "测试方法："},
    {"method.fact", "{0}: {1} = {2}", "{0}：{1} = {2}"},
    {"method.note", "{0}: {1}", "{0}：{1}"},
    {"method.some", "{0} ({1} of {2} records)", "{0}（{2} 条记录中的 {1} 条）"},

    {"chart.required", "required", "要求值"},
    {"chart.ceiling", "ceiling", "上限"},
    {"chart.limit", "required {0}", "要求 {0}"},
    {"chart.typical", "median of all", "全部中位数"},
    {"chart.samples", "samples", "样本数"},
    {"chart.worst_is", "worst {0}", "最差 {0}"},
    {"chart.best_is", "best {0}", "最佳 {0}"},
    {"chart.margins.title", "Measured as a share of what is required", "实测值与要求值之比"},
    {"chart.margins.caption", "Each bar is the measured value over the required one; the red tick at 100 % is the requirement (a minimum must reach it, a maximum must stay below), the dashed tick the ceiling. Bars end at 300 %: » marks what lies beyond.", "每条为实测值与要求值之比；100 % 处红线为要求（下限须达到，上限不得超过），虚线为物理上限。条长以 300 % 为限，» 表示超出。"},
    {"chart.margins.left_out.one", "{0} more criterion is in the table only.", "另有 {0} 项判据仅列于表中。"},
    {"chart.margins.left_out.many", "{0} more criteria are in the table only.", "另有 {0} 项判据仅列于表中。"},
    {"chart.curve.caption", "{2}, the worst: {0} over {1}, the median with its 95 % interval; {3} at {4}.", "最差对象 {2}：{0}随 {1} 的变化，中位数及 95 % 置信区间；{4} 处为 {3}。"},
    {"chart.curve.several.one", "Grey: the median of {0} entity.", "灰线：{0} 个对象的中位数。"},
    {"chart.curve.several.many", "Grey: the median of all {0} entities.", "灰线：全部 {0} 个对象的中位数。"},
    {"chart.curve.limits", "Red: the requirement, at the sizes it applies to.", "红线：要求值及其适用范围。"},
    {"chart.strip.caption", "{0} entities, one cell each, {1}: darker is better. Median {2}; the worst is {3} with {4}. ✗ below requirement, ! warning or waived, ▼ the worst of those that meet it.", "{0} 个对象的{1}，每格一个，颜色越深越好。中位数 {2}；最差为 {3}，{4}。✗ 不达标，! 警戒或豁免，▼ 达标者中最差。"},
    {"chart.matrix.caption", "{0} pairs, {1}; rows send, columns receive, darker is better, white was not measured. Median {2}; the worst is {3} with {4}.", "{0} 对节点的{1}；行为发送方，列为接收方，颜色越深越好，白色为未测。中位数 {2}；最差为 {3}，{4}。"},
    {"chart.matrix.none", "None is far behind the others.", "没有明显落后的节点对。"},
    {"chart.matrix.bad", "{0} far behind the others, in red: {1}.", "明显落后 {0} 对（红色）：{1}。"},
    {"chart.bars.caption", "{0} entities, {1}. Median {2}; the worst is {3} with {4}.", "{0} 个对象的{1}。中位数 {2}；最差为 {3}，{4}。"},
    {"chart.distribution.caption", "{2}, the worst: {1} samples of {0}. Median {3}, extreme {4}.", "最差对象 {2}：{0}的 {1} 个样本。中位数 {3}，极值 {4}。"},
    {"chart.timeline.title", "{0} over time", "{0} 随时间的变化"},
    {"chart.timeline.panel", "{0}, worst {1}: {2} to {3}", "{0}，最差 {1}：{2} 至 {3}"},
    {"chart.timeline.caption.one", "{0} entity over time: {1}.", "{0} 个对象随时间的变化：{1}。"},
    {"chart.timeline.caption.many", "{0} entities over time: {1}. Blue: the worst, grey: the others.", "{0} 个对象随时间的变化：{1}。蓝线为最差者，灰线为其余。"},
    {"chart.timeline.no_events", "No counter grew.", "无计数器增长。"},
    {"chart.timeline.events.one", "{0} event: a counter grew where the dashed line stands.", "{0} 个事件：虚线处计数器增长。"},
    {"chart.timeline.events.many", "{0} events: a counter grew where a dashed line stands.", "{0} 个事件：虚线处计数器增长。"},

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
    {"col.system", "System", "整机"},
    {"col.serial", "Serial number", "序列号"},
    {"col.cpu", "Processors", "处理器"},
    {"col.memory", "Memory", "内存"},
    {"col.gpus", "GPUs", "GPU"},
    {"col.rdma", "RDMA ports", "RDMA 端口"},
    {"col.nvme", "NVMe drives", "NVMe 盘"},
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
    {"jobs.warnings", "About the campaign directory:", "关于测试目录："},
    {"job.done", "done", "完成"},
    {"job.failed", "failed", "失败"},
    {"job.deadline", "deadline passed", "超时"},
    {"job.not_applicable", "not applicable", "不适用"},
    {"job.missing", "did not run", "未运行"},
    {"job.all_hosts", "all hosts", "全部主机"},

    {"waivers.heading", "Waivers", "豁免清单"},
    {"waivers.caption", "Shortfalls that the customer accepts for a while. Beyond its own limit a waived value still fails.", "客户在期限内接受的偏差。超出豁免限值仍判为不通过。"},
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
    {"standard.host", "scale of compute", "算力规模"},
    {"standard.compute", "scale of compute", "算力规模"},
    {"standard.memory", "scale of compute", "算力规模"},
    {"standard.interconnect", "communication performance", "通信性能"},
    {"standard.network", "communication performance", "通信性能"},
    {"standard.storage", "storage performance", "存储性能"},
    {"standard.stability", "availability of compute", "算力可用度"},
    {"standard.training", "training performance", "训练性能"},
    {"issues.heading", "Issue tracking", "问题跟踪表"},
    {"issues.caption", "Closed is an issue only by a campaign in which the part passes.", "只有该部件在复测中通过，问题方可关闭。"},
    {"issues.open", "open", "未关闭"},
    {"issues.closed", "closed {0}, re-test {1}", "{0} 关闭，复测 {1}"},
    {"severity.critical", "critical", "致命"},
    {"severity.major", "major", "严重"},
    {"severity.minor", "minor", "一般"},
    {"severity.note", "note", "提示"},
    {"sheet.heading", "Test-case sheets", "测试用例单"},
    {"sheet.note", "One sheet per criterion; commands stand in full under “How to repeat this”.", "每项判据一张；完整命令见“如何复现”。"},
    {"sheet.purpose", "Purpose", "测试目的"},
    {"sheet.basis", "Basis", "依据"},
    {"sheet.needs", "Preconditions", "预置条件"},
    {"sheet.no_needs", "host reachable, no other load", "主机可达，无其他负载"},
    {"sheet.command", "Tool and command", "测试工具与命令"},
    {"sheet.expected", "Expected", "预期结果"},
    {"sheet.result", "Measured", "实测结果"},
    {"sheet.measured", "{0}; worst {1}, of {2} judged", "{0}；最差对象 {1}，共判定 {2} 个"},
    {"sheet.none_failed", "{0}, of {1} judged", "{0}，共判定 {1} 个"},
    {"sheet.verdict", "Verdict", "结论"},
    {"statistic.median", "median", "中位数"},
    {"statistic.mean", "mean", "均值"},
    {"statistic.min", "minimum", "最小值"},
    {"statistic.max", "maximum", "最大值"},
    {"sheet.waiver", "Deviation or waiver", "偏差/豁免单号"},
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
    {"sign.note", "Result of the measurements: {0}", "测试结论：{0}"},
    {"sign.accepted", "accepted", "通过"},
    {"sign.conditional", "accepted on condition that the open items are closed by", "有条件通过，遗留项整改期限"},
    {"sign.rejected", "rejected", "不通过"},
    {"sign.supplier", "Supplier", "供方"},
    {"sign.customer", "Customer", "需方"},
    {"sign.witness", "Witness", "见证方"},
    {"sign.given", "{0}: {1}, {2}, {3}, over manifest {4}…", "{0}：{1}，{2}，{3}，对应清单 {4}…"},
    {"sign.key", "Ed25519 key {0}.", "Ed25519 公钥 {0}。"},
    {"sign.open_item", "open item {0}, to be closed by {1}", "遗留项 {0}，整改期限 {1}"},
    {"sign.waiver", "waiver {0}: {1}, {2}: {3}; approved by {4}, {5}, valid until {6}", "豁免 {0}：{1}，{2}：{3}；批准人 {4}，单号 {5}，有效期至 {6}"},
    {"sign.name", "Name", "姓名"},
    {"sign.date", "Date", "日期"},
    {"sign.signature", "Signature", "签字"},

    {"col.action", "Action", "处理措施"},
    {"col.approver", "Approver", "批准人"},
    {"col.attribute", "Attribute", "属性"},
    {"col.attributes", "Attributes", "属性"},
    {"col.behind", "Behind by", "落后"},
    {"col.best", "Best", "最佳"},
    {"col.by", "By", "检查人"},
    {"col.ceiling", "Ceiling", "上限"},
    {"col.clause", "Contract clause", "合同条款"},
    {"col.content", "Content", "内容"},
    {"col.check", "Check", "检查项"},
    {"col.checked", "Checked", "结果"},
    {"col.domain", "Domain", "类别"},
    {"col.entity", "Part", "部件"},
    {"col.expires", "Valid until", "有效期至"},
    {"col.failures", "What was wrong", "错误内容"},
    {"col.file", "File", "文件"},
    {"col.finding", "Finding and next step", "情况与下一步"},
    {"col.found", "Found", "发现时间"},
    {"col.host", "Host", "主机"},
    {"col.id", "Id", "编号"},
    {"col.interval", "95 % interval", "95 % 区间"},
    {"col.item", "Item", "项目"},
    {"col.log", "Log", "日志"},
    {"col.measured", "Measured", "实测值"},
    {"col.median", "Median of all", "全部中位数"},
    {"col.metric", "Metric", "指标"},
    {"col.most", "Most hosts", "多数主机"},
    {"col.number", "No.", "编号"},
    {"col.odd", "Odd hosts", "不一致主机"},
    {"col.of_ceiling", "Of ceiling", "占上限"},
    {"col.owner", "Owner", "责任方"},
    {"col.part", "Part", "部件"},
    {"col.parts", "Parts", "部件"},
    {"col.passed", "Passed", "通过数"},
    {"col.point", "Step and point", "步骤与测点"},
    {"col.ratio", "Ratio", "比值"},
    {"col.reason", "Reason", "理由"},
    {"col.remark", "Remark", "备注"},
    {"col.replaced", "Part, old → new", "换件 旧→新"},
    {"col.required", "Required", "要求值"},
    {"col.result", "Result", "结果"},
    {"col.samples", "Entities × samples", "对象数 × 样本数"},
    {"col.scope", "Scope", "范围"},
    {"col.severity", "Severity", "严重等级"},
    {"col.standard", "Standard", "标准"},
    {"col.status", "Status", "状态"},
    {"col.symptom", "Symptom and evidence", "现象与证据"},
    {"col.source", "Source of the requirement", "要求来源"},
    {"col.step", "Step", "步骤"},
    {"col.test", "Test", "测试项"},
    {"col.ticket", "Ticket", "单号"},
    {"col.waiver", "Waiver", "豁免编号"},
    {"col.waiver_limit", "Waived down to", "豁免限值"},
    {"col.what", "What happened, what next", "情况与下一步"},
    {"col.where", "Worst", "最差对象"},
    {"col.where_sn", "Where / serial", "节点/SN"},
    {"col.why", "Why it matters", "意义"},
    {"col.worst", "Worst", "最差对象"},
    {"col.worst_value", "Worst value", "最差值"},
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
    for (const auto more : {reason_texts(), name_texts()})
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
  fmt::dynamic_format_arg_store<fmt::format_context> args;
  for (const std::string& arg : message.args) args.push_back(arg);
  return fmt::vformat(raw_text(lang, message.id), args);
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
