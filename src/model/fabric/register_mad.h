// Registers of NVIDIA's switches by datagrams of the vendor's class 0x0A: AccessRegister (0x51),
// read and never written. Framing and registers: mtcr_ib_ofed.c and register_access_table.adb of
// mstflint. Pure.
#pragma once

#include "model/fabric/mad.h"
#include "model/optics/register_page.h"

namespace cb {

// From the answer to GeneralInfo: registers can be read by such datagrams.
bool offers_registers(const Mad& general_info);

// Local ports that a switch of `ports` InfiniBand ports may have: a split one has two.
constexpr int local_ports_of(int ports) { return 2 * ports + 2; }

// PLIB: which InfiniBand port a local port is. Both questions take a local port, as PDDR's own
// field for InfiniBand's numbers is not known of every firmware.
MadQuestion ask_port_map(uint16_t lid, int local_port, uint64_t key);
// 0: none; nothing where the answer is about another local port.
std::optional<int> decode_port_map(const Mad& mad, int local_port);

enum class LightUnit : uint8_t { decibels = 0, microwatts = 1 };
// PDDR, page 3. Its 208 bytes are within the first block of an answer.
MadQuestion ask_module_page(uint16_t lid, int local_port, LightUnit unit, uint64_t key);
// Nothing where the answer is about another local port or page.
std::optional<ModulePage> decode_module_page_of(const Mad& mad, int local_port);

// What a status of AccessRegister says; busy ones are asked again.
bool is_register_busy(uint16_t status);
std::string register_status_text(uint16_t status);

}  // namespace cb
