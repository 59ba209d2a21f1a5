"""`bundle`, and `signoff verify` of an archive: on a machine that has the binary and nothing else."""

import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile

import pytest

from campaigns import at_least, cb, files, profile, run_local, step


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A signed campaign, the public key, and its bundle as bytes."""
    directory = tmp_path_factory.mktemp("bundle")
    (directory / "p.json").write_text(json.dumps(profile([step("good")], [at_least("good.rate", "good", 1)])))
    assert run_local(directory / "p.json", directory / "good").returncode == 0
    private, public = directory / "li.pem", directory / "li.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    done = cb("signoff", directory / "good", "--role", "customer", "--name", "李娜", "--verdict", "accepted", "--yes",
              "--key", private)
    assert done.returncode == 0, done.stderr
    assert cb("bundle", directory / "good", "--out", directory / "good.tar").returncode == 0
    return directory / "good", public, (directory / "good.tar").read_bytes()


@pytest.fixture
def verify(signed, tmp_path):
    """Verifies an archive; whatever comes of it, nothing is left behind."""
    (tmp_path / "scratch").mkdir()

    def run(archive, *more):
        done = cb("signoff", "verify", archive, "--public-key", signed[1], *more,
                  env=os.environ | {"TMPDIR": str(tmp_path / "scratch")})
        assert list((tmp_path / "scratch").iterdir()) == []
        return done

    return run


def test_bytes_behind_the_compressed_data_are_seen(signed, verify, tmp_path):
    """gzip and tar pass them over; several members and a tape's zeros are one archive."""
    _, _, archive = signed
    whole = gzip.compress(archive)
    parts = gzip.compress(archive[:5000]) + gzip.compress(archive[5000:])
    for content, code in ((whole, 0), (parts, 0), (whole + bytes(4096), 0), (whole + b"x", 2), (whole + bytes(100) + b"garbage", 2),
                          (whole + whole[:30], 2)):
        (tmp_path / "a.tar.gz").write_bytes(content)
        done = verify(tmp_path / "a.tar.gz")
        assert done.returncode == code, (len(content), done.stdout, done.stderr)


def members(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return [(m, tar.extractfile(m).read()) for m in tar.getmembers()]


def packed(path, entries, form=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=form) as tar:
        for info, content in entries:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def renamed(info, name, **more):
    out = tarfile.TarInfo(name)
    for key, value in more.items():
        setattr(out, key, value)
    return out


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz"])
def test_a_bundle_verifies_as_its_directory_does(signed, verify, tmp_path, name):
    directory, public, _ = signed
    assert cb("bundle", directory, "--out", tmp_path / name).returncode == 0
    done = verify(tmp_path / name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == cb("signoff", "verify", directory, "--public-key", public).stdout
    assert done.stdout.startswith("✓ intact: 1 signature by listed keys\n✓ 李娜 (customer)")
    assert cb("signoff", "verify", tmp_path / name).returncode == 3


def test_a_changed_file_in_a_bundle_is_named(signed, verify, tmp_path):
    for wanted, content in files(signed[0]).items():
        if not content:
            continue
        entries = [(m, c[:-2] + bytes([c[-2] ^ 1]) + c[-1:] if m.name.endswith("/" + wanted) else c)
                   for m, c in members(signed[2])]
        done = verify(packed(tmp_path / "a.tar", entries))
        assert done.returncode == 1 and wanted in done.stdout, wanted


def hostile(entries, outside="/x"):
    folder = entries[0][0].name.split("/")[0]
    one = entries[0]
    return {
        "leads out": [*entries, (renamed(one[0], f"{folder}/../../../x"), b"x")],
        "absolute": [(renamed(one[0], outside), b"x")],
        "dot": [*entries, (renamed(one[0], f"{folder}/./x"), b"x")],
        "empty part": [*entries, (renamed(one[0], f"{folder}//x"), b"x")],
        "other folder": [*entries, (renamed(one[0], "campaign-0000000000000000/x"), b"x")],
        "no folder": [(renamed(one[0], "campaign.json"), b"{}")],
        "no id": [(renamed(one[0], "campaign-x/campaign.json"), b"{}")],
        "link": [*entries, (renamed(one[0], f"{folder}/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")],
        "hard link": [*entries, (renamed(one[0], f"{folder}/x", type=tarfile.LNKTYPE, linkname=one[0].name), b"")],
        "device": [*entries, (renamed(one[0], f"{folder}/x", type=tarfile.CHRTYPE), b"")],
        "folder": [*entries, (renamed(one[0], f"{folder}/x", type=tarfile.DIRTYPE), b"")],
        "twice": [*entries, one],
        "file as folder": [*entries, (renamed(one[0], f"{one[0].name}/x"), b"x")],
        "nothing": [],
    }


@pytest.mark.parametrize("case", sorted(hostile([(tarfile.TarInfo("campaign-0123456789abcdef/x"), b"")])))
def test_an_archive_that_no_bundle_is_unpacks_nothing(signed, verify, tmp_path, case):
    done = verify(packed(tmp_path / "a.tar", hostile(members(signed[2]), str(tmp_path / "x"))[case]))
    assert done.returncode == 2, (case, done.stdout, done.stderr)
    assert not (tmp_path / "x").exists()  # "leads out" would put it there


def test_an_archive_that_is_cut_short_or_damaged_is_refused(signed, verify, tmp_path):
    archive, whole = tmp_path / "a.tar", signed[2]
    for content, said in ((whole[:100], "cut short"), (whole[:700], "cut short"), (whole[:-1024], "cut short"),
                          (whole[:-512], "cut short"), (whole[:150] + b"1" + whole[151:], "sum is wrong"),
                          (whole + b"more", "behind its end"), (b"", "cut short"), (b"PK\x03\x04" * 400, "sum is wrong"),
                          (gzip.compress(whole)[:-20], "cut short"), (gzip.compress(whole)[:2000], "cut short")):
        archive.write_bytes(content)
        done = verify(archive)
        assert done.returncode == 2 and said in done.stderr, (said, done.stdout, done.stderr)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.zst", "a.gz", "a"])
def test_a_bundle_is_not_written_under_a_name_that_says_another_format(signed, tmp_path, name):
    done = cb("bundle", signed[0], "--out", tmp_path / name)
    assert done.returncode == 2 and ".tar, .tar.gz or .tgz" in done.stderr
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("identity", ["../../../../x/EVIL", "", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0"])
def test_an_id_that_could_be_a_path_is_not_packed(signed, tmp_path, identity):
    copy = shutil.copytree(signed[0], tmp_path / "copy")
    document = json.loads((copy / "campaign.json").read_text())
    (copy / "campaign.json").write_text(json.dumps(document | {"id": identity}))
    done = cb("bundle", copy, "--out", tmp_path / "a.tar")
    assert done.returncode == 2 and not (tmp_path / "a.tar").exists(), done.stderr
