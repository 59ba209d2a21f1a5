#!/usr/bin/python3
"""Writes what a portable program is made of: sbom.py BUILD_DIR FOLDER.

Into FOLDER, whose bin/clusterbench is the program: sbom.spdx.json (SPDX 2.3) and licences/. What was linked is read from the
linker's map, what was compiled in as a header from the build's dependencies; dpkg knows whose files they are.

sbom.py --files SBOM FILE… prints SBOM once more with the files of a release that the program lies in, and their sums.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Of the parts that end up in the program, by source package.
LICENCES = {
    "cli11": "BSD-3-Clause", "fmtlib": "MIT", "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12-cross": "GPL-3.0-or-later WITH GCC-exception-3.1", "glibc": "LGPL-2.1-or-later",
    "hwloc": "BSD-3-Clause", "libkainjow-mustache": "BSL-1.0", "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "liburing": "MIT OR LGPL-2.1-or-later", "nlohmann-json3": "MIT",
    "openblas": "BSD-3-Clause", "openssl": "Apache-2.0", "pugixml": "MIT", "rdma-core": "GPL-2.0-only OR Linux-OpenIB",
    "simdjson": "Apache-2.0", "util-linux": "LGPL-2.1-or-later", "zlib": "Zlib", "cuda": "LicenseRef-NVIDIA-CUDA-EULA",
}
OWN = {"clusterbench", "kernels", "compat"}


def said(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout


def linked_into(link_map):
    """Archives of which a member was taken, and start files that were named, as the linker's map tells."""
    lines = link_map.read_text(errors="replace").splitlines()
    for line in lines:
        if line.startswith("Discarded input sections"):
            break
        if found := re.match(r"(\S.*\.a)\(", line):
            yield found[1]
    for line in lines:
        if found := re.match(r"LOAD (.*crt\w+\.o)$", line):
            yield found[1]


def linked_files(build):
    """Of the program and of the CUDA modules beside it."""
    maps = [build / "bin/clusterbench.map", *sorted(build.glob("lib/clusterbench/*.map"))]
    return {Path(os.path.join(build, f)).resolve() for link_map in maps for f in linked_into(link_map)}


def headers(build):
    words = said("ninja", "-C", str(build), "-t", "deps").split("\n")
    return {Path(os.path.normpath(os.path.join(build, w.strip()))) for w in words if w.startswith("    ")}


def owners(files):
    """Package of each file that dpkg knows; the others."""
    done = subprocess.run(["dpkg-query", "-S", *map(str, files)], text=True, capture_output=True, check=False)
    known = {}
    for line in done.stdout.splitlines():  # libx-dev:amd64: /usr/include/x.h
        package, _, file = line.partition(": ")
        known[Path(file)] = package.split(":")[0]
    return known, sorted(set(files) - set(known))


def of_debian(package, how):
    fields = said("dpkg-query", "-W", "-f", "${source:Package}\t${source:Version}\t${Version}\n", package).splitlines()[0].split("\t")
    return {"name": package, "version": fields[2], "source": fields[0], "how": how,
            "purl": f"pkg:deb/debian/{package}@{fields[2]}", "text": Path(f"/usr/share/doc/{package}/copyright").resolve()}


def inputs():
    lines = [line.split() for line in (ROOT / "ci/portable/inputs.txt").read_text().splitlines() if line and line[0] != "#"]
    return {name: (version, digest, file) for _, name, version, digest, file in lines}


def of_source(name, place):
    version, digest, file = inputs()[name]
    return {"name": name, "version": version, "source": name, "how": "STATIC_LINK", "digest": digest, "file": file,
            "purl": f"pkg:deb/debian/{name}@{version}?arch=source", "text": place / "licences" / name}


def glibc_files(place):
    version, digest, file = inputs()["ziglang"]
    return {"name": "glibc", "version": "2.28", "source": "glibc", "how": "STATIC_LINK", "digest": digest, "file": file,
            "purl": f"pkg:pypi/ziglang@{version}", "text": place / "glibc/LICENSES",
            "comment": "start file and wrappers of stat; the library itself is the host's"}


def cuda_runtime(file):
    """The licence lies in the toolkit; a wheel keeps it beside its other facts."""
    places = [p for above in file.parents if (above / "bin/nvcc").exists()
              for pattern in ("EULA.txt", "dist-info/*cuda_runtime*/**/License.txt", "dist-info/*cuda_runtime*/License.txt")
              for p in sorted(above.glob(pattern))]
    if not places:
        sys.exit(f"sbom.py: {file} is linked and its licence (EULA.txt) was not found in its toolkit")
    version = re.search(r"CUDART_VERSION\s+(\d+)", (file.parent.parent / "include/cuda_runtime_api.h").read_text())[1]
    return {"name": f"cuda-cudart-{int(version) // 1000}", "version": f"{int(version) // 1000}.{int(version) % 1000 // 10}", "source": "cuda",
            "how": "STATIC_LINK", "purl": "pkg:generic/nvidia/cuda-cudart", "text": places[0]}


def of_other_machine(file, place):
    """A library of arm64 that ci/portable/libraries.sh has unpacked; this machine has the same package for its own programs."""
    name = owners([Path("/usr/lib/x86_64-linux-gnu") / file.name])[0].popitem()[1]
    version = dict(line.split() for line in (place / "debian/versions").read_text().splitlines())[name]
    return {**of_debian(name, "STATIC_LINK"), "version": version, "purl": f"pkg:deb/debian/{name}@{version}?arch=arm64",
            "text": place / "debian/usr/share/doc" / name / "copyright"}


def foreign_part(file, place, build):
    if file.is_relative_to(build) or file.name[3:-2] in OWN:
        return None
    if file.is_relative_to(place / "glibc"):
        return glibc_files(place)
    if file.is_relative_to(place / "debian"):
        return of_other_machine(file, place)
    if file.is_relative_to(place / "lib"):
        return of_source({"libfmt.a": "fmtlib"}.get(file.name, file.name[3:-2]), place)
    if "cudart" in file.name:
        return cuda_runtime(file)
    sys.exit(f"sbom.py: {file} is linked and no package is known for it")


def parts(build, place):
    """Everything in the program that is not ours, once, by name."""
    known, foreign = owners(linked_files(build))
    found = {p: of_debian(p, "STATIC_LINK") for p in sorted(set(known.values()))}
    for file in foreign:
        if part := foreign_part(file, place, build):
            found.setdefault(part["name"], part)
    seen = {h for h in headers(build) if str(h).startswith("/usr/")}
    for package in sorted(set(owners(seen)[0].values()) - set(found)):
        found[package] = of_debian(package, "BUILD_DEPENDENCY_OF")
    return [found[name] for name in sorted(found)]


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def spdx_package(part):
    out = {"SPDXID": spdx_id(part["name"]), "name": part["name"], "versionInfo": part["version"],
           "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
           "licenseDeclared": LICENCES.get(part["source"], "NOASSERTION"), "copyrightText": "NOASSERTION",
           "sourceInfo": f"source package {part['source']}",
           "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part["purl"]}]}
    if "digest" in part:
        out["packageFileName"] = part["file"]
        out["checksums"] = [{"algorithm": "SHA256", "checksumValue": part["digest"]}]
    if "comment" in part:
        out["comment"] = part["comment"]
    return out


def own_package(program, version):
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    return {"SPDXID": "SPDXRef-clusterbench", "name": "clusterbench", "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "packageFileName": "bin/clusterbench",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}


def relation(part):
    if part["how"] == "STATIC_LINK":
        return {"spdxElementId": "SPDXRef-clusterbench", "relationshipType": "STATIC_LINK", "relatedSpdxElement": spdx_id(part["name"])}
    return {"spdxElementId": spdx_id(part["name"]), "relationshipType": part["how"], "relatedSpdxElement": "SPDXRef-clusterbench"}


def document(folder, found):
    commit = said("git", "-C", str(ROOT), "rev-parse", "HEAD").strip()
    version = re.search(r"VERSION ([\d.]+) LANGUAGES", (ROOT / "CMakeLists.txt").read_text())[1]
    made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    licences = sorted({LICENCES[p["source"]] for p in found if LICENCES.get(p["source"], "").startswith("LicenseRef-")})
    out = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"clusterbench-{version}",
           "documentNamespace": f"https://spdx.org/spdxdocs/clusterbench-{version}-{commit}",
           "creationInfo": {"created": made, "creators": ["Tool: clusterbench-ci/portable/sbom.py"]},
           "packages": [own_package(folder / "bin/clusterbench", version), *map(spdx_package, found)],
           "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                              "relatedSpdxElement": "SPDXRef-clusterbench"}, *map(relation, found)]}
    if licences:
        out["hasExtractedLicensingInfos"] = [{"licenseId": name, "extractedText": "see licences/"} for name in licences]
    return out


def with_files(document_of_program, names):
    """SPDX: each file of the release contains the program."""
    for name in names:
        one = {"SPDXID": "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "fileName": f"./{name}", "fileTypes": ["ARCHIVE"],
               "checksums": [{"algorithm": kind.upper(), "checksumValue": hashlib.new(kind, Path(name).read_bytes()).hexdigest()}
                             for kind in ("sha1", "sha256")],
               "licenseConcluded": "NOASSERTION", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"}
        document_of_program.setdefault("files", []).append(one)
        document_of_program["relationships"].append(
            {"spdxElementId": one["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": "SPDXRef-clusterbench"})
    document_of_program["documentNamespace"] += "-release"
    return document_of_program


def main():
    if sys.argv[1:2] == ["--files"]:
        print(json.dumps(with_files(json.loads(Path(sys.argv[2]).read_text()), sys.argv[3:]), indent=1))
        return
    build, folder = (Path(a).resolve() for a in sys.argv[1:])
    cache = (build / "CMakeCache.txt").read_text()
    place = Path(re.search(r"^CLUSTERBENCH_PORTABLE_ROOT:\w+=(.*)$", cache, re.MULTILINE)[1])
    found = parts(build, place.resolve())
    (folder / "sbom.spdx.json").write_text(json.dumps(document(folder, found), indent=1) + "\n")
    (folder / "licences").mkdir()
    for part in found:
        (folder / "licences" / f"{part['name']}.txt").write_bytes(part["text"].read_bytes())
    print("\n".join(f"{p['name']} {p['version']} ({'linked' if p['how'] == 'STATIC_LINK' else 'headers'})" for p in found))


if __name__ == "__main__":
    sys.exit(main())
