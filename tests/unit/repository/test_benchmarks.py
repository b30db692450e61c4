"""What the benchmarks conclude from numbers; none is measured here."""

import json

import numpy as np
import pytest

from benchmarks import guard, pages, report
from benchmarks.harness import OURS, Job, Outcome, Target, Timing
from benchmarks.roofline import Roofline

STORED = {"counts": {"sets": 1_000_000, "call: ece": 100_000}}


def test_guard_lets_noise_pass_and_catches_growth():
    assert guard.judge({"sets": 1_020_000, "call: ece": 108_000}, STORED) == []
    assert guard.judge({"sets": 500_000, "call: ece": 50_000}, STORED) == []
    slower = guard.judge({"sets": 1_100_000, "call: ece": 120_000}, STORED)
    assert slower == ["sets: +10.0%", "call: ece: +20.0%"]


def test_guard_wants_the_same_cases():
    assert guard.judge({"sets": 1_000_000, "new": 1}, STORED) == [
        "call: ece: stored, but not counted",
        "new: not stored",
    ]


def test_guard_reads_the_dumps_of_callgrind(tmp_path):
    path = tmp_path / "counts.1"
    path.write_text(
        "desc: Trigger: Client Request: top-label ECE float64\n\nsummary: 1234\n"
    )
    assert guard.read_dump(path) == ("top-label ECE float64", 1234)
    path.write_text("desc: Trigger: Program termination\n\nsummary: 99\n")
    assert guard.read_dump(path) is None


def timing(name, threads, seconds, waited=0.0):
    return Timing(name, threads, seconds, seconds, seconds, waited, 3, 2_000_000)


@pytest.fixture
def run():
    job = Job(
        name="top-label ECE",
        size={"n": 200_000, "K": 100},
        ours=lambda: None,
        reads=160_000_000,
        targets=(
            Target("NumPy", ratio=2.0),
            Target("netcal", ratio=8.0),
            Target(seconds=0.01, if_missed="the matrix has to be read"),
            Target(second_core=1.6),
        ),
    )
    timings = (
        timing(OURS, 1, 0.02),
        timing(OURS, 2, 0.011, waited=0.3),
        timing("NumPy", 0, 0.05),
    )
    roofline = Roofline(read={1: 1e10, 2: 1.6e10}, exponentials={1: 2e8, 2: 3.8e8})
    outcome = Outcome("metrics", job, timings)
    return json.loads(report.as_json([outcome], roofline, [0.1, 0.2], ["netcal"]))


def test_page_tells_ratios_targets_and_what_is_missing(run):
    text = pages.page([run])
    row = "| top-label ECE | n=200k K=100 |"
    assert f"{row} at least 2x NumPy | 2.50x | 4.55x | met |" in text
    assert f"{row} at least 8x netcal |  |  | not installed |" in text
    assert f"{row} under 10 ms | 20 ms | 11 ms | NOT MET |" in text
    assert f"{row} at least 1.6x by the second core |  | 1.82x | met |" in text
    missed = text[text.index("Missed, and why") :]
    assert "ECE, n=200k K=100, under 10 ms: the matrix has to be read." in missed
    assert "the second core:" not in missed
    assert f"{row} 20 ms | 11 ms | 2.0 MB | 0.80 | NumPy 2.50 |" in text
    assert "skipped: netcal" in text and "1 of 3 times waited" in text
    assert f"numpy {np.__version__}" in text


def test_headline_has_the_peers_that_targets_name(run):
    lines = list(pages.headline(run))
    assert "| top-label ECE | n=200k K=100 | NumPy | 2.5x | 4.5x |" in lines
    assert not any("netcal" in line for line in lines)


def test_a_family_that_was_run_by_itself_replaces_its_older_jobs(run):
    later = json.loads(json.dumps(run))
    later["jobs"][0]["name"] = "top-label ECE, measured again"
    later["load"] = [7.5, 8.5]
    both = pages.without_older([run, later])
    assert [job["name"] for part in both for job in part["jobs"]] == [
        "top-label ECE, measured again"
    ]
    text = pages.page(both)
    assert "| top-label ECE |" not in text
    own = text[text.index("## Metrics and assessment") :]
    assert own.index("in a run of its own") < own.index("| top-label ECE, measured")
    assert "7.5 before, 8.5 after" in own
    assert pages.without_older([run]) == [run]


def test_a_run_on_a_busy_machine_tells_processor_times(run):
    later = json.loads(json.dumps(run))
    times = (0.02, 0.03, 0.08)
    for timing, taken in zip(later["jobs"][0]["timings"], times, strict=True):
        timing["processor"] = taken  # the clock's ratio is 2.5, of one that waited
    text = pages.page(pages.without_older([run, later]))
    assert (
        "| top-label ECE | n=200k K=100 | 20 ms |  | 2.0 MB |  | NumPy 4.00 |" in text
    )
    assert "too busy for a clock" in text
    quiet = json.loads(json.dumps(later))
    for timing in quiet["jobs"][0]["timings"]:
        timing["waited"] = 0.0
    text = pages.page(pages.without_older([run, quiet]))
    assert "NumPy 2.50 |" in text and "too busy" not in text
