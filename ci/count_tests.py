#!/usr/bin/python3
"""Counts the tests of CTest runs and prints `N passed, N failed, N skipped` as the last line.

CTest counts a pytest file as one test, which hides a skip inside it; here its cases are counted, and
every skip is printed with its reason. What ran once more (again.xml) counts as it ended then, and is printed.
Exit 1 when anything failed or nothing ran.
"""
import argparse
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def state_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.get("status") in ("fail", "notrun") and case.find("skipped") is None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def cases_of(build, test):
    """The pytest cases of a CTest test; the test itself where it is no pytest or died without a word."""
    file = build / "junit" / f"{test.get('name')}.xml"
    cases = ET.parse(file).getroot().findall(".//testcase") if file.exists() else []
    states = {state_of(case) for case in cases}
    # pytest may report success and still be failed by CTest, e.g. for its time limit.
    if not cases or (state_of(test) == "failed" and "failed" not in states):
        return [test]
    return cases


def tests_of(build):
    """The CTest tests; those that ran once more as they ended then."""
    again = build / "again.xml"
    repeated = ET.parse(again).getroot().findall("testcase") if again.exists() else []
    later = {test.get("name"): test for test in repeated}
    for test in ET.parse(build / "ctest.xml").getroot().findall("testcase"):
        if test.get("name") in later:
            print(f"repeated {build.name} {test.get('name')}")
        yield later.get(test.get("name"), test)


def main(builds):
    count = Counter()
    for build in map(Path, builds):
        report = build / "ctest.xml"
        if not report.exists():
            print(f"{report} is missing: ctest did not finish")
            count["failed"] += 1
            continue
        for test in tests_of(build):
            for case in cases_of(build, test):
                state = state_of(case)
                count[state] += 1
                if state == "passed":
                    continue
                name = test.get("name")
                if case is not test:
                    name += f"::{case.get('name')}"
                skipped = case.find("skipped")
                reason = f": {skipped.get('message')}" if skipped is not None else ""
                print(f"{state} {build.name} {name}{reason}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 0 if count["passed"] and not count["failed"] else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="BUILD_DIRECTORY", help="with ctest.xml and junit/*.xml")
    sys.exit(main(parser.parse_args().builds))
