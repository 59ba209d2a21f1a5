// What an Xid means (model/xid.cpp), in both languages.
#include "core/messages/said_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kSaidXid[] = {
    {"xid.13", "graphics engine exception", "图形引擎异常"},
    {"xid.31", "memory page fault", "内存缺页错误"},
    {"xid.32", "invalid or corrupted push buffer", "推送缓冲无效或损坏"},
    {"xid.38", "driver firmware error", "驱动固件错误"},
    {"xid.43", "GPU stopped processing of one program", "GPU 停止处理某一程序"},
    {"xid.45", "preemptive cleanup of a program", "程序被抢占清理"},
    {"xid.46", "GPU stopped processing", "GPU 停止处理"},
    {"xid.48", "double-bit ECC error", "双位 ECC 错误"},
    {"xid.54", "auxiliary power is not connected", "辅助供电未连接"},
    {"xid.62", "internal micro-controller halt", "内部微控制器停止"},
    {"xid.63", "row remapping or page retirement: reset and repeat", "行重映射或页退役：请复位后重测"},
    {"xid.64", "row remapping or page retirement failed", "行重映射或页退役失败"},
    {"xid.69", "graphics engine class error", "图形引擎类错误"},
    {"xid.74", "NVLink error", "NVLink 错误"},
    {"xid.79", "GPU has fallen off the bus", "GPU 已掉卡"},
    {"xid.92", "high rate of single-bit ECC errors", "单位 ECC 错误率过高"},
    {"xid.94", "contained ECC error", "已隔离的 ECC 错误"},
    {"xid.95", "uncontained ECC error", "未隔离的 ECC 错误"},
    {"xid.109", "context switch timeout", "上下文切换超时"},
    {"xid.110", "security fault", "安全故障"},
    {"xid.119", "GSP does not answer", "GSP 无应答"},
    {"xid.120", "GSP error", "GSP 错误"},
    {"xid.121", "C2C link error, corrected", "C2C 链路错误，已纠正"},
    {"xid.136", "link training failed", "链路训练失败"},
    {"xid.137", "NVLink privilege error", "NVLink 权限错误"},
    {"xid.140", "unrecovered ECC error", "未恢复的 ECC 错误"},
    {"xid.143", "GPU initialisation failed", "GPU 初始化失败"},
    {"xid.144", "NVLink error (SAW)", "NVLink 错误（SAW）"},
    {"xid.145", "NVLink error (RLW)", "NVLink 错误（RLW）"},
    {"xid.146", "NVLink error (TLW)", "NVLink 错误（TLW）"},
    {"xid.147", "NVLink error (TREX)", "NVLink 错误（TREX）"},
    {"xid.148", "NVLink error (NVLPW)", "NVLink 错误（NVLPW）"},
    {"xid.149", "NVLink error (NETIR)", "NVLink 错误（NETIR）"},
    {"xid.150", "NVLink error (MSE)", "NVLink 错误（MSE）"},
    {"xid.154", "recovery action changed", "恢复动作已变更"},
    {"xid.155", "NVLink software error", "NVLink 软件错误"},
    {"xid.156", "resource retirement event", "资源退役事件"},
    {"xid.157", "resource retirement failed", "资源退役失败"},
    {"xid.158", "fatal timeout", "致命超时"},
    {"xid.167", "PCIe fatal timeout", "PCIe 致命超时"},
    {"xid.168", "reduced memory capacity", "显存容量减少"},
    {"xid.169", "SEC2 halt", "SEC2 停止"},
    {"xid.171", "uncorrectable DRAM error", "不可纠正的 DRAM 错误"},
    {"xid.172", "uncorrectable SRAM error", "不可纠正的 SRAM 错误"},
};
// clang-format on

}  // namespace

std::span<const TextRow> said_xid() { return kSaidXid; }

}  // namespace cb
