#!/usr/bin/python3
"""Says whether a program is the portable one: check.py BINARY [ARCHIVE [CUDA_MODULE…]]. A line per check; exit 1 if any fails."""
import math
import platform
import re
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

NEWEST_GLIBC = (2, 28)
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
ANYWAY = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # the loader itself, which is there before any library
COPIED = {"stderr"}  # which nobody moves; of libstdc++.a
PACKED_BYTES = 60 * 10**6
HELP_SECONDS = 0.020
DRIVERS = {"11": 450, "12": 525, "13": 580}  # from which on a module serves, as src/sys/gpu/cuda_runtime.cpp has it


def said(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def of_aarch64(binary):
    with open(binary, "rb") as file:
        return file.read(20)[18:] == b"\xb7\0"  # EM_AARCH64, little endian


def binutils(tool, binary):
    return f"aarch64-linux-gnu-{tool}" if of_aarch64(binary) else tool


def started(binary):
    """The words that start it on this machine."""
    if of_aarch64(binary) and platform.machine() != "aarch64":
        loader = "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1"  # qemu's own -L would show the program another root directory
        return ["qemu-aarch64-static", loader, "--library-path", str(Path(loader).parent), binary]
    return [binary]


def is_old_enough(version):
    """Not GLIBC_PRIVATE either, which changes with every build of libc."""
    return re.fullmatch(r"[\d.]+", version) is not None and tuple(map(int, version.split("."))) <= NEWEST_GLIBC


def newer_symbols(binary):
    """Names that are wanted of a newer glibc, or of any version of another library."""
    found = set()
    for line in said(binutils("objdump", binary), "-T", binary).splitlines():
        wanted = re.search(r"\*UND\*.*\((\w+?)_([\w.]+)\)\s+(\S+)$", line)
        if wanted and (wanted[1] != "GLIBC" or not is_old_enough(wanted[2])):
            found.add(f"{wanted[3]}@{wanted[1]}_{wanted[2]}")
    return sorted(found)


def other_libraries(binary):
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", binary)))
    return sorted(needed - LIBRARIES - ANYWAY)


def search_paths(binary):
    return re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", said("readelf", "-d", binary))


def copied_variables(binary):
    copies = re.findall(r"R_\w+_COPY\s+(\w+)", said(binutils("objdump", binary), "-R", binary))
    return sorted(set(copies) - COPIED)


def exported_symbols(binary):
    names = [line.split()[-1].split("@")[0] for line in said(binutils("nm", binary), "-D", "--defined-only", binary).splitlines()]
    return sorted(set(names) - COPIED)


def help_seconds(binary):
    """The fastest run is what the program itself needs; on a machine that does other work too, it takes some to see one."""
    fastest = math.inf
    for _ in range(100):
        begun = time.monotonic()
        subprocess.run([*started(binary), "--help"], check=True, stdout=subprocess.DEVNULL)
        fastest = min(fastest, time.monotonic() - begun)
        if fastest <= HELP_SECONDS / 2:
            break
    return fastest


def checks(binary, archive):
    """(name, whether it holds, what was found)"""
    lists = {"no symbol newer than glibc 2.28": newer_symbols, "only libc, libm, libdl, libpthread, librt": other_libraries,
             "no search path of its own": search_paths, "no variable of libc but stderr is copied": copied_variables,
             "nothing is exported": exported_symbols}
    for name, look in lists.items():
        found = look(binary)
        yield name, not found, ", ".join(found[:12]) + (f" and {len(found) - 12} more" if len(found) > 12 else "")
    seconds = help_seconds(binary)
    emulated = started(binary) != [binary]
    yield "--help within 20 ms", emulated or seconds <= HELP_SECONDS, f"{seconds * 1e3:.1f} ms" + (", emulated: not judged" if emulated else "")
    yield "bytes of the program", True, f"{Path(binary).stat().st_size / 1e6:.1f} MB"
    if archive:
        size = Path(archive).stat().st_size
        yield "packed within 60 MB", size <= PACKED_BYTES, f"{size / 1e6:.1f} MB"


def module_checks(module):
    """The same for a CUDA module, but for what it exports."""
    name = Path(module).name
    lists = {"no symbol newer than glibc 2.28": newer_symbols, "only libc, libm, libdl, libpthread, librt": other_libraries,
             "no search path of its own": search_paths}
    for check, look in lists.items():
        found = look(module)
        yield f"{name}: {check}", not found, ", ".join(found[:12])
    exported = exported_symbols(module)
    yield f"{name}: exports its table alone", exported == ["clusterbench_cuda"], ", ".join(exported[:12])
    driver = DRIVERS.get(re.sub(r"\D", "", name))
    yield f"{name}: serves drivers", driver is not None, f"from {driver} on, {Path(module).stat().st_size / 1e6:.1f} MB"


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    of_modules = (check for module in sys.argv[3:] for check in module_checks(module))
    for name, good, found in chain(checks(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None), of_modules):
        print(f"{'ok    ' if good else 'FAILED'} {name}{': ' + found if found else ''}")
        failed += not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
