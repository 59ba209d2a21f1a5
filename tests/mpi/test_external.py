"""external on several ranks: rank 0 starts the program, the others say what their host has and wait."""
import re

TEXT = """HPLinpack 2.3  --  stand-in
- Computational tests pass if scaled residuals are less than                16.0
T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4        1000   192     1     1               2.00              3.341e-01
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0041437 ...... PASSED
Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
End of Tests.
"""


def test_one_rank_starts_the_program_and_all_end(job, tmp_path):
    (tmp_path / "text").write_text(TEXT)
    script = tmp_path / "xhpl"
    # Neither it nor a launcher of its own may take itself for a rank of the job.
    script.write_text(f"#!/bin/sh\nenv >>{tmp_path}/variables\ncat {tmp_path}/text\n")
    script.chmod(0o755)
    code, document, _, err = job.measure(2, "external", "--program", str(script), "--launch", "none", "--order", "1000",
                                         "--dir", str(tmp_path))
    record, = document["records"]
    assert code == 0, err
    assert record["metrics"][0]["samples"] == [3.341e8] and len(record["checks"]) == 3
    variables = (tmp_path / "variables").read_text().splitlines()
    assert len([line for line in variables if line.startswith("PATH=")]) == 1  # one start
    # PMIX_MCA_ are settings, which a user has made as well as a launcher.
    assert not [line for line in variables if re.match("OMPI_COMM_WORLD|PMIX_(?!MCA_)|PMI_", line)]


def test_a_program_that_is_not_there_is_told_by_the_rank_that_starts_it(job, tmp_path):
    code, document, _, err = job.measure(2, "external", "--program", str(tmp_path / "xhpl"), "--launch", "none", "--order", "1000",
                                         "--dir", str(tmp_path))
    assert code == 4 and document["records"][0]["outcome"] == "errored"
    assert "rank 0: " in err and "could not be started: No such file or directory" in err
