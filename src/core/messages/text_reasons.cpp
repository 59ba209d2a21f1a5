// Why a criterion has its verdict, in both languages: what was measured of it, what is missing, and
// what the profile needs of hosts.
#include "core/messages/text_reasons.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kReasons[] = {
    {"why.below", "{0} has {1}, at least {2} is required", "{0} 实测值 {1}，要求不低于 {2}"},
    {"why.above", "{0} has {1}, at most {2} is required", "{0} 实测值 {1}，要求不高于 {2}"},
    {"why.says", "{0}: {1}", "{0}：{1}"},
    {"why.wrong", "{0}: check {1} failed", "{0}：检查 {1} 未通过"},
    {"why.wrong_detail", "{0}: check {1} failed: {2}", "{0}：检查 {1} 未通过：{2}"},
    {"why.failures", "{0}: {1} failed", "{0}：{1} 项未通过"},
    {"why.differs", "{0}: {1} is {2}, elsewhere {3}", "{0}：{1} 为 {2}，其他主机为 {3}"},
    {"why.see", "see {0}", "见 {0}"},
    {"why.more.one", "{0} more fails", "另有 {0} 个对象不通过"},
    {"why.more.many", "{0} more fail", "另有 {0} 个对象不通过"},
    {"why.also_missing", "besides, not measured", "此外有未测项"},
    {"why.gaps_more", "and {0} more", "另有 {0} 项"},
    {"why.beyond", "beyond the limit of waiver {0}", "超出让步接收 {0} 的限值"},
    {"why.waived", "waived until {0} by {1}, {2}: {3}", "让步接收至 {0}，批准人 {1}，单号 {2}：{3}"},
    {"why.checks.one", "{0} check, none failed", "{0} 项检查，全部通过"},
    {"why.checks.many", "{0} checks, none failed", "{0} 项检查，全部通过"},
    {"why.hosts.one", "{0} host, no difference", "{0} 台主机，无差异"},
    {"why.hosts.many", "{0} hosts, no difference", "{0} 台主机，无差异"},
    {"why.nothing", "nothing was measured", "没有任何测量"},
    {"why.impossible", "the limit {0} is above the ceiling {1} of every entity ({2}): the profile is wrong, or other parts were delivered than it expects", "要求 {0} 高于全部对象的上限 {1}（{2}）：验收配置有误，或交付的部件与配置不符"},
    {"why.above_ceiling", "the limit is above its ceiling {0} ({1}): this part is not what the profile expects", "要求高于其上限 {0}（{1}）：该部件与验收配置不符"},
    {"why.unsure", "inconclusive: the median of {0} lies between {1} and {2} (95 %), and {3} is required; measure more", "无法判定：{0} 的中位数在 {1} 至 {2} 之间（95 %），要求 {3}；需增加测量"},
    {"why.of_fleet", "a share of the median of {0} alike, {1}", "按 {0} 个同类的中位数 {1} 的比例"},
    {"why.disputed", "inconclusive: {1} of {2} measurements of {0} meet {3}, the others do not; measure more", "无法判定：{0} 的 {2} 次测量中有 {1} 次达到 {3}，其余未达到；需增加测量"},
    {"why.disturbed", "inconclusive: {0} has {1} and {2} is required, but other work took {3} of the processors of {4} meanwhile; end it and repeat with run --resume", "无法判定：{0} 实测值 {1}，要求 {2}，但测试期间其他负载占用了 {4} 处理器的 {3}；请停止其他负载后用 run --resume 重测"},
    {"step.title", "Step {0}: data right and complete", "步骤 {0}：数据正确且完整"},
    {"step.why", "wrong data and measurements that are missing count, whatever is asked of the figures", "无论对数值有何要求，数据错误和缺测都计入结论"},
    {"step.source", "every step is judged by its data and its completeness", "每个步骤均按数据正确性和完整性判定"},
    {"step.required", "done, every check passes", "全部完成，检查全部通过"},
    {"gap.failed", "step {0} on {1} failed{2}; repeat it with run --resume", "步骤 {0}（{1}） 失败{2}；用 run --resume 重测"},
    {"gap.failed_log", "step {0} on {1} failed{2}, see {3}; repeat it with run --resume", "步骤 {0}（{1}） 失败{2}，见 {3}；用 run --resume 重测"},
    {"gap.deadline", "step {0} on {1} ran past its deadline{2}; repeat it with run --resume", "步骤 {0}（{1}） 超时{2}；用 run --resume 重测"},
    {"gap.deadline_log", "step {0} on {1} ran past its deadline{2}, see {3}; repeat it with run --resume", "步骤 {0}（{1}） 超时{2}，见 {3}；用 run --resume 重测"},
    {"gap.not-applicable", "step {0} on {1} was not run, as not applicable{2}; repeat it with run --resume", "步骤 {0}（{1}） 因不适用而未运行{2}；用 run --resume 重测"},
    {"gap.not-applicable_log", "step {0} on {1} was not run, as not applicable{2}, see {3}; repeat it with run --resume", "步骤 {0}（{1}） 因不适用而未运行{2}，见 {3}；用 run --resume 重测"},
    {"gap.missing", "step {0} on {1} has not run{2}; repeat it with run --resume", "步骤 {0}（{1}） 未运行{2}；用 run --resume 重测"},
    {"gap.missing_log", "step {0} on {1} has not run{2}, see {3}; repeat it with run --resume", "步骤 {0}（{1}） 未运行{2}，见 {3}；用 run --resume 重测"},
    {"gap.final", "step {0} on {1} counts as not measured{2}", "步骤 {0}（{1}） 不计为已测{2}"},
    {"gap.no_step", "the campaign has no step {0}: run this profile anew", "本批次没有步骤 {0}：请按该配置重新运行"},
    {"gap.twin", "{0} is the same machine as {1}: mend the list of hosts", "{0} 与 {1} 是同一台机器：请修正主机清单"},
    {"gap.nothing", "{0} contributed nothing to step {1}{2}: see {3}", "{0} 在步骤 {1}{2} 中没有结果：见 {3}"},
    {"gap.partial", "step {0} on {1} ended early ({2}); repeat it with run --resume", "步骤 {0}（{1}） 提前结束（{2}）；用 run --resume 重测"},
    {"gap.no_record", "step {0} on {1} has no record{2}: add the point to the step, or mend the criterion", "步骤 {0}（{1}） 没有测点{2}：请在步骤中增加该测点，或修正判据"},
    {"gap.blind", "the check of step {0} on {1} did not find a planted fault ({2}): its results prove nothing; mend the check, or measure with another clusterbench", "步骤 {0}（{1}）的检查未发现植入的故障（{2}）：其结果不能证明任何事；请修正检查，或换用另一版本的 clusterbench 重测"},
    {"gap.unproved", "whether the check of step {0} on {1} finds a planted fault is not shown: {2}; repeat it with run --resume", "步骤 {0}（{1}）的检查能否发现植入的故障未得到证明：{2}；用 run --resume 重做"},
    {"proof.line", "a planted fault was found by the checks of {0} of {1} steps ({2} jobs)", "{1} 个步骤中有 {0} 个步骤的检查发现了植入的故障（{2} 个作业）"},
    {"proof.heading", "Checks shown to fail", "检查有效性验证"},
    {"proof.caption", "A short job of every step was given a fault on purpose; its check had to find it (run --prove). These jobs give no figures.", "对每个步骤另行运行一个短作业并故意植入故障，其检查必须发现该故障（run --prove）。这些作业不产生数值。"},
    {"proof.none", "no fault can be planted", "无法植入故障"},
    {"proof.blind", "nothing: no check failed", "未发现：没有检查报错"},
    {"proof.cluster", "all together", "全部主机"},
    {"col.planted", "Planted fault", "植入的故障"},
    {"col.found_by", "Found by check", "发现故障的检查"},
    {"proof.impossible", "none can be planted in {0}", "{0} 中无法植入故障"},
    {"gap.skipped", "step {0} on {1} was skipped: {2}", "步骤 {0}（{1}） 已跳过：{2}"},
    {"gap.errored", "step {0} failed on {1}: {2}; see {3}", "步骤 {0} 在 {1} 上出错：{2}；见 {3}"},
    {"gap.no_metric", "{0} on {1} has no {2}: see the notes of {3}", "{0}（{1}）没有 {2}：见 {3} 的说明"},
    {"gap.part_no_metric", "{0} has no {1}: see the notes of {2}", "{0} 没有 {1}：见 {2} 的说明"},
    {"gap.fleet", "{0}: {1} measured, and at least {2} are needed to compare each with their median", "{0}：只测得 {1} 个，至少需要 {2} 个才能与中位数比较"},
    {"gap.no_earlier", "{0} of {1} is not known from step {2}: its growth cannot be told; repeat the steps in their order", "步骤 {2} 没有 {1} 的 {0}：无法得知其增量；请按顺序重测"},
    {"gap.reset", "{0} of {1} is smaller than in step {2}: somebody has reset it, or the driver was loaded again; repeat the steps ({3})", "{1} 的 {0} 小于步骤 {2} 时的值：计数被清零或驱动被重新加载；请重测（{3}）"},
    {"gap.spread", "{0}: {1} measured for {2}, and two are needed to compare the parts of one host", "{0}：{2} 只测得 {1} 个，至少需要两个才能比较同一主机的部件"},
    {"why.spread", "{0} lies {1} above {2}, at most {3} is required", "{0} 比 {2} 高 {1}，要求不超过 {3}"},
    {"why.ratio", "{0} has {1} times the value of {2}, at most {3} times is required", "{0} 为 {2} 的 {1} 倍，要求不超过 {3} 倍"},
    {"gap.no_ceiling", "{0} of {1} has no ceiling to compare with: see the notes of {2}", "{1} 的 {0} 没有可比较的上限：见 {2} 的说明"},
    {"gap.no_inventory", "the inventory of {0} is not known: repeat its step with run --resume", "{0} 的清单未知：用 run --resume 重测该步骤"},
    {"gap.unread", "{0} could not be read on any host", "{0} 在任何主机上都未能读取"},
    {"gap.needs", "{0}: mend the host, or use a profile that fits it", "{0}：请修复主机，或使用与之相符的配置"},
    {"need.hosts", "needs {0} hosts, has {1}", "需要 {0} 台主机，只有 {1} 台"},
    {"need.unknown", "needs {0} {1} on every host, and the inventory of {2} of {3} hosts is not known", "每台主机需要 {0} 个 {1}，但 {3} 台主机中有 {2} 台清单未知"},
    {"need.lacks", "needs {0} {1} on every host, {2} has {3}", "每台主机需要 {0} 个 {1}，{2} 只有 {3} 个"},
    {"need.none", "needs {0} {1} on every host, {2} has none", "每台主机需要 {0} 个 {1}，{2} 没有"},
};
// clang-format on

}  // namespace

std::span<const TextRow> reason_texts() { return kReasons; }

}  // namespace cb
