# A recipe for Spack that installs the release file as it is. Nothing is built; the MPI of a job is that of its launcher.
# ci/release.sh fills in version and sum, and puts it beside the archive as clusterbench-VERSION.spack.py:
#   cp clusterbench-VERSION.spack.py REPO/packages/clusterbench/package.py
#   cd to the folder of clusterbench-VERSION-x86_64.tar.gz && spack install clusterbench
import os

from spack.package import *


class Clusterbench(Package):
    """Measures a GPU cluster and lets its buyer accept it: matrix products, memory, collectives, RDMA, TCP, storage and burn-in."""

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    variant("openmpi", default=False, description="Also install Open MPI; otherwise the launcher of the site is used")
    depends_on("openmpi", type="run", when="+openmpi")

    # As ci/portable/check.py proves of the release.
    conflicts("target=aarch64:", msg="this recipe installs the release for x86_64")
    conflicts("platform=darwin", msg="the release is for Linux alone")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/clusterbench-{version}-x86_64.tar.gz"

    def install(self, spec, prefix):
        for name in ("bin", "lib", "share", "licences"):
            if os.path.isdir(name):
                install_tree(name, join_path(prefix, name))
        install("LICENSE", prefix)
        install("sbom.spdx.json", prefix)
