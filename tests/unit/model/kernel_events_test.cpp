#include "model/kernel_events.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("lines of the kernel's log and their kinds") {
  const auto kind = [](const char* text) { return std::string(kernel_event_kind(text)); };
  CHECK(kind("NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', GPU has fallen off the bus.") ==
        "xid");
  CHECK(kind("NVRM: Xid (PCI:0000:9b:00): 13, pid=12, Graphics Exception") == "xid_of_program");
  CHECK(kind("EDAC MC0: 1 CE memory read error on CPU_SrcID#0") == "memory_corrected");
  CHECK(kind("EDAC MC0: 1 UE memory read error") == "memory_uncorrected");
  CHECK(kind("mce: [Hardware Error]: Machine check events logged") == "machine_check");
  CHECK(kind("pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer") ==
        "pcie_error");
  CHECK(kind("nvme nvme3: I/O 12 QID 4 timeout, reset controller") == "drive_reset");
  CHECK(kind("nvme nvme3: controller is down; will reset: CSTS=0xffffffff") == "drive_reset");
  CHECK(kind("blk_update_request: I/O error, dev nvme0n1, sector 12") == "drive_error");
  CHECK(kind("mlx5_core 0000:17:00.0 ens1np0: Link down") == "link_down");
  CHECK(kind("ixgbe 0000:01:00.0 eth0: NIC Link is Down") == "link_down");
  CHECK(kind("mce: CPU3: Core temperature above threshold, cpu clock throttled") == "throttling");
  CHECK(kind("Out of memory: Killed process 4242 (python)") == "out_of_memory");
  CHECK(kind("watchdog: BUG: soft lockup - CPU#3 stuck for 23s!") == "lockup");
  CHECK(kind("INFO: task kworker/3:1:88 blocked for more than 120 seconds.") == "lockup");
  CHECK(kind("EXT4-fs error (device sda1): ext4_find_entry") == "file_system_error");
  CHECK(kind("a.out[7]: segfault at 0 ip 0 sp 0 error 4") == "program_fault");
  CHECK(kind("eth0: Link is Up - 25Gbps/Full").empty());
  CHECK(kind("EXT4-fs (sda1): mounted filesystem").empty());
}

TEST_CASE("a log is read line by line; continuations and torn lines count nothing") {
  const KernelEvents e = kernel_events(
      "6,100,5000000,-;eth0: Link is Up\n"
      "3,101,7500000,-;mlx5_core 0000:17:00.0 ens1np0: Link down\n"
      " SUBSYSTEM=pci\n"
      "3,x,7500000,-;mlx5_core: Link down\n"
      "no semicolon\n");
  CHECK(e.messages == 2);
  REQUIRE(e.lines.size() == 1);
  CHECK(e.lines[0].kind == "link_down");
  CHECK(e.lines[0].sequence == 101);
  CHECK(e.lines[0].seconds == 7.5);
  CHECK(kernel_events("").messages == 0);
}

TEST_CASE("fatal lines of firmware, PCIe, drives and the kernel itself") {
  const auto kind = [](const char* text) { return std::string(kernel_event_kind(text)); };
  CHECK(kind("{1}[Hardware Error]: event severity: fatal") == "machine_check");
  CHECK(kind("{1}[Hardware Error]: event severity: corrected").empty());
  CHECK(kind("BUG: unable to handle page fault for address: 0") == "kernel_fault");
  CHECK(kind("Oops: 0002 [#1] SMP") == "kernel_fault");
  CHECK(kind("kernel BUG at mm/slub.c:1") == "kernel_fault");
  CHECK(kind("NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.") == "xid");
  CHECK(kind("pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0") ==
        "pcie_fatal");
  CHECK(kind("pcieport 0000:00:01.0: pciehp: Slot(1): Link Down") == "link_down");
  CHECK(kind("mlx5_core 0000:17:00.0: poll_health:800: Fatal error 1 detected") == "device_error");
  CHECK(kind("nvme nvme0: I/O 12 QID 3 timeout, aborting") == "drive_reset");
  CHECK(kind("Buffer I/O error on dev sda1, logical block 0") == "drive_error");
  CHECK(kind("md/raid1:md0: Disk failure on sda, disabling device.") == "drive_error");
  CHECK(kind("critical target error, dev sda, sector 12") == "drive_error");
  CHECK(kind("ata1.00: failed command: READ FPDMA QUEUED") == "drive_error");
  CHECK(kind("BTRFS error (device sda1): bad tree block start") == "file_system_error");
  CHECK(kind("nfs: server 10.0.0.1 not responding, still trying") == "server_unreachable");
}

TEST_CASE("a log says which lines it has") {
  const KernelEvents e = kernel_events("6,100,5000000,-;a\n6,101,6000000,-;b\n6,107,7000000,-;c\n");
  CHECK(e.first == 100);
  CHECK(e.last == 107);
  CHECK(e.first_seconds == 5);
}
