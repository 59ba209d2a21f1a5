"""Falsified archives of a signed campaign, drawn at random: verification holds for the same files only.

CLUSTERBENCH_ATTACKS is ten times the number of archives, CLUSTERBENCH_ATTACK_SEED the first seed. A finding names its seed.
"""

import collections
import gzip
import io
import os
import pathlib
import random
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from campaigns import at_least, cb, run_local, step, write_profile  # noqa: E402

COUNT = int(os.environ.get("CLUSTERBENCH_ATTACKS", "2000")) // 10
FIRST = int(os.environ.get("CLUSTERBENCH_ATTACK_SEED", "1"))


def signed(root, name, key):
    profile = write_profile(root, [step("first"), step("second", params={"value": 3})],
                            [at_least("first.rate", "first", 1), at_least("second.rate", "second", 2.5)])
    assert run_local(profile, root / name, "--prove").returncode == 0
    done = cb("signoff", root / name, "--role", "customer", "--name", "B. Li", "--verdict", "accepted", "--yes", "--key", key)
    assert done.returncode == 0, done.stderr
    assert cb("bundle", root / name, "--out", root / f"{name}.tar").returncode == 0
    return members((root / f"{name}.tar").read_bytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Members of a signed campaign's archive, those of another campaign's, the first archive's bytes, and the public key."""
    root = tmp_path_factory.mktemp("bundles")
    for arguments in (["genpkey", "-algorithm", "ed25519", "-out", root / "key.pem"],
                      ["pkey", "-in", root / "key.pem", "-pubout", "-out", root / "public.pem"]):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    one = signed(root, "one", root / "key.pem")
    other = signed(root, "other", root / "key.pem")
    return one, other, (root / "one.tar").read_bytes(), root / "public.pem"


def members(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return [(m, tar.extractfile(m).read()) for m in tar.getmembers()]


def packed(entries, form=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, content in entries:
            info.size = len(content) if info.type == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def named(name, kind=tarfile.REGTYPE, **more):
    out = tarfile.TarInfo(name)
    out.type = kind
    for attribute, value in more.items():
        setattr(out, attribute, value)
    return out


# ---- each takes the members, those of another campaign, and a random.Random; it gives an archive ----
def drop(entries, other, lot):
    entries.pop(lot.randrange(len(entries)))
    return packed(entries)


def twice(entries, other, lot):
    entries.insert(lot.randrange(len(entries)), lot.choice(entries))
    return packed(entries)


def second_version(entries, other, lot):
    info, content = lot.choice(entries)
    entries.append((named(info.name), content + b" "))
    return packed(entries)


def alter(entries, other, lot):
    at = lot.randrange(len(entries))
    info, content = entries[at]
    spoilt = bytearray(content or b"x")
    spoilt[lot.randrange(len(spoilt))] ^= 1 << lot.randrange(8)
    entries[at] = (info, bytes(spoilt) if content else b"x")
    return packed(entries)


def of_another_campaign(entries, other, lot):
    theirs = {info.name.split("/", 1)[1]: content for info, content in other}
    at = lot.choice([i for i, (info, content) in enumerate(entries)
                     if theirs.get(info.name.split("/", 1)[1], content) != content])
    entries[at] = (entries[at][0], theirs[entries[at][0].name.split("/", 1)[1]])
    return packed(entries)


def both_campaigns(entries, other, lot):
    return packed(entries + [lot.choice(other)])


def exchange(entries, other, lot):
    a, b = lot.sample([i for i, (info, content) in enumerate(entries) if content], 2)
    if entries[a][1] == entries[b][1]:
        return None
    entries[a], entries[b] = (entries[a][0], entries[b][1]), (entries[b][0], entries[a][1])
    return packed(entries)


def rename(entries, other, lot):
    at = lot.randrange(len(entries))
    info, content = entries[at]
    entries[at] = (named(lot.choice([info.name + "x", info.name.upper(), info.name.replace("/", "//", 1), "/" + info.name,
                                     info.name.replace("/", "/../", 1), info.name.replace("/", "/./", 1)])), content)
    return packed(entries)


def add(entries, other, lot):
    folder = entries[0][0].name.split("/")[0]
    kind, link = lot.choice([(tarfile.REGTYPE, ""), (tarfile.SYMTYPE, "/etc/passwd"), (tarfile.SYMTYPE, "campaign.json"),
                             (tarfile.LNKTYPE, f"{folder}/campaign.json"), (tarfile.DIRTYPE, ""), (tarfile.FIFOTYPE, ""),
                             (tarfile.CHRTYPE, ""), (tarfile.CONTTYPE, ""), (tarfile.GNUTYPE_SPARSE, "")])
    name = lot.choice(["new", "records/003-new.json", "signoffs/002-supplier.json", "campaign.json/new", "records", "\x1b[2J",
                       "../../new", ".new"])
    entries.insert(lot.randrange(len(entries) + 1), (named(f"{folder}/{name}", kind, linkname=link), b""))
    return packed(entries)


def long_names(entries, other, lot):
    """A name that only another format can hold: a second header, of a kind that no bundle has."""
    folder = entries[0][0].name.split("/")[0]
    entries.append((named(f"{folder}/{'x' * 300}"), b""))
    return packed(entries, lot.choice([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))


def bytes_of(change):
    def changed(entries, other, lot):
        return change(bytearray(packed(entries)), lot)
    return changed


def tear(archive, lot):
    end = len(archive.rstrip(b"\0"))
    return bytes(archive[:lot.randrange(1, end)])


def spoil_header(archive, lot):
    """A field of the first header changes, its sum does not."""
    at = lot.choice([0, 20, 124, 130, 148, 156, 257])
    archive[at] ^= 1 << lot.randrange(1, 7)
    return bytes(archive)


def go_on(archive, lot):
    return bytes(archive) + lot.choice([b"x", b"\0" * 511 + b"x", bytes(archive)])


def torn_gzip(archive, lot):
    whole = gzip.compress(bytes(archive))
    return whole[:lot.randrange(len(whole) // 2, len(whole))]


CHANGES = [drop, twice, second_version, alter, of_another_campaign, both_campaigns, exchange, rename, add, long_names,
           *map(bytes_of, (tear, spoil_header, go_on, torn_gzip))]


def test_the_archive_itself_holds_in_any_order_and_compressed(made, tmp_path):
    one, other, archive, public = made
    for name, content in (("a.tar", archive), ("a.tar.gz", gzip.compress(archive)), ("b.tar", packed(one[::-1]))):
        (tmp_path / name).write_bytes(content)
        done = cb("signoff", "verify", tmp_path / name, "--public-key", public)
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_falsified_archive_holds_and_nothing_is_left_behind(made, tmp_path):
    one, other, archive, public = made
    (tmp_path / "scratch").mkdir()
    codes, holds = collections.Counter(), []
    for seed in range(FIRST, FIRST + max(COUNT, len(CHANGES))):
        lot = random.Random(seed)
        change = lot.choice(CHANGES)
        falsified = change(list(one), other, lot)
        if falsified is None:
            continue
        (tmp_path / "f.tar").write_bytes(falsified)
        done = cb("signoff", "verify", tmp_path / "f.tar", "--public-key", public,
                  env=os.environ | {"TMPDIR": str(tmp_path / "scratch")})
        codes[done.returncode] += 1
        if done.returncode not in (1, 2):
            holds.append((seed, change.__name__, done.returncode, done.stdout[-300:] + done.stderr[-300:]))
        assert "\x1b" not in done.stdout + done.stderr, (seed, change.__name__)
        assert list((tmp_path / "scratch").iterdir()) == [], (seed, change.__name__)
    print("seeds from", FIRST, dict(codes))
    assert not holds, holds[:5]
