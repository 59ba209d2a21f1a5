// The Chinese of what an Xid means (model/xid.cpp).
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kXidPhrases[] = {
    {"graphics engine exception", "图形引擎异常"},
    {"memory page fault", "内存缺页错误"},
    {"invalid or corrupted push buffer", "推送缓冲无效或损坏"},
    {"driver firmware error", "驱动固件错误"},
    {"GPU stopped processing of one program", "GPU 停止处理某一程序"},
    {"preemptive cleanup of a program", "程序被抢占清理"},
    {"GPU stopped processing", "GPU 停止处理"},
    {"double-bit ECC error", "双位 ECC 错误"},
    {"auxiliary power is not connected", "辅助供电未连接"},
    {"internal micro-controller halt", "内部微控制器停止"},
    {"row remapping or page retirement: reset and repeat", "行重映射或页退役：请复位后重测"},
    {"row remapping or page retirement failed", "行重映射或页退役失败"},
    {"graphics engine class error", "图形引擎类错误"},
    {"NVLink error", "NVLink 错误"},
    {"GPU has fallen off the bus", "GPU 已掉卡"},
    {"high rate of single-bit ECC errors", "单位 ECC 错误率过高"},
    {"contained ECC error", "已隔离的 ECC 错误"},
    {"uncontained ECC error", "未隔离的 ECC 错误"},
    {"context switch timeout", "上下文切换超时"},
    {"security fault", "安全故障"},
    {"GSP does not answer", "GSP 无应答"},
    {"GSP error", "GSP 错误"},
    {"C2C link error, corrected", "C2C 链路错误，已纠正"},
    {"link training failed", "链路训练失败"},
    {"NVLink privilege error", "NVLink 权限错误"},
    {"unrecovered ECC error", "未恢复的 ECC 错误"},
    {"GPU initialisation failed", "GPU 初始化失败"},
    {"NVLink error ({0})", "NVLink 错误（{0}）"},
    {"recovery action changed", "恢复动作已变更"},
    {"NVLink software error", "NVLink 软件错误"},
    {"resource retirement event", "资源退役事件"},
    {"resource retirement failed", "资源退役失败"},
    {"fatal timeout", "致命超时"},
    {"PCIe fatal timeout", "PCIe 致命超时"},
    {"reduced memory capacity", "显存容量减少"},
    {"SEC2 halt", "SEC2 停止"},
    {"uncorrectable DRAM error", "不可纠正的 DRAM 错误"},
    {"uncorrectable SRAM error", "不可纠正的 SRAM 错误"},
};
// clang-format on

}  // namespace

std::span<const Phrase> xid_phrases() { return kXidPhrases; }

}  // namespace cb
