"""What was wanted of a job, what was got, and whether that is enough."""

from dataclasses import asdict, dataclass
from typing import Any

from .harness import OURS, Outcome, Target
from .units import bytes_text, seconds_text

MET, MET_ON_TWO, MISSED = "met", "met on 2 threads", "NOT MET"
NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class Judgement:
    """One target of one job.

    Attributes
    ----------
    wanted : str
        The target in words.
    got : tuple of str
        On one thread and on two; empty where there is no such number.
    verdict : str
    against : str
        The implementation that the target names, ours for a limit.
    if_missed : str
        Why it can be missed.
    """

    wanted: str
    got: tuple[str, str]
    verdict: str
    against: str
    if_missed: str

    def as_dict(self) -> dict[str, Any]:
        """Return what is stored."""
        return asdict(self)


def judge(outcome: Outcome, target: Target) -> Judgement:
    """Compare what a target wants with what was measured."""
    ours = [outcome.ours(threads) for threads in outcome.job.threads]
    if target.second_core:
        gain = ours[0].seconds / ours[1].seconds
        wanted = f"at least {target.second_core:g}x by the second core"
        verdict = MET if gain >= target.second_core else MISSED
        return _judgement(target, wanted, ["", f"{gain:.2f}x"], verdict)
    if target.against != OURS:
        wanted = f"at least {target.ratio:.3g}x {target.against}"
        other = next((t for t in outcome.timings if t.name == target.against), None)
        if other is None:
            return _judgement(target, wanted, [], NOT_INSTALLED)
        ratios = [outcome.ratio(other, threads) for threads in outcome.job.threads]
        met = [ratio >= target.ratio for ratio in ratios]
        return _judgement(target, wanted, [f"{r:.2f}x" for r in ratios], _verdict(met))
    if target.seconds < float("inf"):
        text, limit, got = seconds_text, target.seconds, [t.seconds for t in ours]
    else:
        text, limit, got = bytes_text, target.peak_bytes, [t.peak_bytes for t in ours]
    met = [number < limit for number in got]
    texts = [text(number) for number in got]
    return _judgement(target, f"under {text(limit)}", texts, _verdict(met))


def _verdict(met: list[bool]) -> str:
    return MET if met[0] else MET_ON_TWO if any(met) else MISSED


def _judgement(target: Target, wanted: str, got: list[str], verdict: str) -> Judgement:
    one, two = [*got, "", ""][:2]
    return Judgement(wanted, (one, two), verdict, target.against, target.if_missed)
