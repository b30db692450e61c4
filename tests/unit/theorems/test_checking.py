"""Running experiments: seeds, workers, verdicts of true and of false theorems."""

import dataclasses

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import theorems
from distfreeuq._kernels.threads import get_num_threads
from distfreeuq.theorems import Claim, Experiment, Theorem


def coin(generator, n_draws, p=0.5):
    return {"heads": generator.random(n_draws) < p}


def biased(generator, n_draws):
    return coin(generator, n_draws, 0.6)


def warns(generator, n_draws):
    dfu.split_conformal([[0.5, 0.5]], [0], rng=generator)  # one row: too few
    return coin(generator, n_draws)


FAIR = Claim("heads", equals=0.5, tolerance=0.05)


def theorem(draw=coin, control=biased, claim=FAIR, name="fair-coin", **options):
    controls = () if control is None else (Experiment("bent coin", control, (claim,)),)
    return Theorem(
        name=name,
        title="A coin is fair",
        reference="folklore",
        statement="P(heads) = 1/2.",
        assumptions=("the coin is not bent",),
        experiments=(Experiment("coin", draw, (claim,), **options),),
        controls=controls,
    )


def table(result):
    return result.to_frame().drop(columns="seconds")


# ------------------------------------------------------------------------- verdicts


def test_a_true_theorem_holds_and_its_control_is_caught():
    result = theorems.verify(theorem())
    assert result.ok and result.exit_code == 0
    assert result.verdicts == {"fair-coin": "holds"}
    assert result.outcomes("fair-coin") == {"coin": "holds"}
    assert result.outcomes("fair-coin", control=True) == {"bent coin": "caught"}
    assert repr(result) == "<TheoremResult fair-coin: holds, controls caught>"


def test_a_false_theorem_is_violated():
    result = theorems.verify(theorem(draw=biased))
    assert result.verdicts == {"fair-coin": "violated"}
    assert not result.ok and result.exit_code == 1


def test_a_control_that_does_not_fail_is_missed():
    result = theorems.verify(theorem(control=coin))
    assert result.verdicts == {"fair-coin": "holds"}
    assert result.outcomes("fair-coin", control=True) == {"bent coin": "missed"}
    assert not result.ok and result.exit_code == 1
    assert repr(result) == "<TheoremResult fair-coin: holds, controls not caught>"
    assert "holds, a control not caught" in str(result)


def test_too_few_draws_leave_it_undecided_and_say_so():
    result = theorems.verify(theorem(control=None), n_sim=20)
    assert result.verdicts == {"fair-coin": "undecided"}
    assert not result.ok and result.exit_code == 3
    result = theorems.verify(theorem(), n_sim=20)  # nor is the control caught
    assert result.outcomes("fair-coin", control=True) == {"bent coin": "undecided"}
    assert result.exit_code == 1


def test_one_occurrence_of_the_impossible_refutes():
    def once(generator, n_draws):
        return {"never": np.arange(n_draws) == 0}

    claim = Claim("never", at_most=0.0)
    result = theorems.verify(theorem(draw=once, control=None, claim=claim, batch=50))
    assert result.verdicts == {"fair-coin": "violated"}


def test_an_experiment_is_as_good_as_its_worst_claim():
    both = Experiment(
        "coin", coin, (FAIR, Claim("heads", at_least=0.6, tolerance=0.05))
    )
    result = theorems.verify(dataclasses.replace(theorem(), experiments=(both,)))
    assert [claim.verdict for claim in result.claims] == [
        "holds",
        "violated",
        "violated",
    ]
    assert result.verdicts == {"fair-coin": "violated"}


def test_each_claim_keeps_the_look_that_decided_it():
    sharp = Claim("heads", equals=0.5, tolerance=0.02)
    blunt = Claim("heads", at_least=0.1, tolerance=0.05)
    experiment = Experiment("coin", coin, (sharp, blunt), batch=100)
    one = dataclasses.replace(theorem(control=None), experiments=(experiment,))
    result = theorems.verify(one)
    late, early = result.claims
    assert late.verdict == early.verdict == "holds"
    assert early.draws < late.draws
    printed = [line.split()[-2:] for line in str(result).splitlines()]
    assert ["Draws:", str(late.draws)] in printed


def test_a_control_ends_with_the_first_claim_refuted():
    claims = (Claim("heads", equals=0.4, tolerance=0.01), FAIR)
    control = Experiment("bent coin", biased, claims, batch=100)
    result = theorems.verify(dataclasses.replace(theorem(), controls=(control,)))
    first = result.claims[1]
    assert first.verdict == "violated" and first.draws < 10_000  # of 270 000


def test_thorough_asks_for_a_third_of_the_tolerance():
    fast = theorems.verify(theorem(control=None)).claims[0]
    thorough = theorems.verify(theorem(control=None), effort="thorough").claims[0]
    assert thorough.tolerance == pytest.approx(fast.tolerance / 3)
    assert 4 < thorough.draws / fast.draws < 20
    assert thorough.high - thorough.low < fast.high - fast.low


# ---------------------------------------------------------------------------- seeds


@pytest.fixture(scope="module")
def alone():
    return theorems.verify(theorem(batch=200), rng=7)


def test_the_same_table_whatever_the_number_of_workers(alone):
    parallel = theorems.verify(theorem(batch=200), rng=7, n_jobs=2)
    assert table(parallel).equals(table(alone))
    assert str(parallel) == str(alone)


def test_functions_without_a_name_run_in_workers():
    lambdas = theorem(
        draw=lambda generator, n: {"heads": generator.random(n) < 0.5}, control=None
    )
    result = theorems.verify(lambdas, n_jobs=2)
    assert table(result).equals(table(theorems.verify(lambdas)))


def test_the_same_table_whatever_else_is_checked(alone):
    other = theorem(name="another", batch=200)
    both = theorems.verify([other, theorem(batch=200)], rng=7)
    of_first = table(both).query("theorem == 'fair-coin'").reset_index(drop=True)
    assert of_first.equals(table(alone))
    assert not np.allclose(table(both)["estimate"][:2], table(both)["estimate"][2:])


def test_another_seed_is_another_run(alone):
    other = theorems.verify(theorem(batch=200), rng=8)
    assert table(other)["estimate"][0] != table(alone)["estimate"][0]


@pytest.mark.parametrize(
    "rng", [None, np.random.default_rng(1), np.random.SeedSequence(3), np.int64(5)]
)
def test_the_seed_on_record_gives_the_same_table(rng):
    result = theorems.verify(theorem(), rng=rng)
    assert isinstance(result.seed, int)
    assert table(theorems.verify(theorem(), rng=result.seed)).equals(table(result))


def test_batches_are_independent_of_each_other():
    seen = []

    def remember(generator, n_draws):
        seen.append(generator.random())
        return coin(generator, n_draws)

    theorems.verify(theorem(draw=remember, control=None, batch=100))
    assert len(seen) > 3 and len(set(seen)) == len(seen)


# ------------------------------------------------------------------- what users do


def test_a_theorem_of_ones_own_by_name():
    theorems.register(theorem())
    try:
        assert "fair-coin" in theorems.names()
        assert theorems.verify("fair-coin").ok
        with pytest.raises(dfu.InputError, match=r"not yet known.*'fair-coin'"):
            theorems.register(theorem())
        theorems.register(theorem(draw=biased), replace=True)
        assert not theorems.verify("fair-coin").ok
    finally:
        theorems.unregister("fair-coin")
    assert "fair-coin" not in theorems.names()


def test_unknown_names_are_told_with_the_known_ones():
    with pytest.raises(
        dfu.InputError, match=r"one of split-coverage,.*Got 'nonsense' instead"
    ):
        theorems.verify("nonsense")


def test_several_at_once_each_only_once():
    result = theorems.verify([theorem(), theorem(), theorem(name="another")])
    assert list(result.verdicts) == ["fair-coin", "another"]
    assert repr(result) == ("<TheoremResult 2 theorems: 2 holds; controls: 2 caught>")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda g, n: {}, r"bools \(\d+,\) for 'heads'. Got none"),
        (lambda g, n: {"heads": np.ones(n)}, "float64 of shape"),
        (lambda g, n: {"heads": np.ones(n + 1, dtype=bool)}, "bool of shape"),
    ],
)
def test_what_a_draw_must_return(draw, message):
    with pytest.raises(dfu.InputError, match=f"'draw' parameter.*'coin'.*{message}"):
        theorems.verify(theorem(draw=draw))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_draw_that_fails_is_named(n_jobs):
    def fails(generator, n_draws):
        raise ZeroDivisionError("by nothing")

    message = "experiment 'coin' failed. ZeroDivisionError: by nothing"
    with pytest.raises(dfu.DistFreeError, match=message):
        theorems.verify(theorem(draw=fails), n_jobs=n_jobs)


def test_warnings_of_the_package_are_part_of_the_draw():
    assert theorems.verify(theorem(draw=warns, control=None)).ok


def test_threads_are_as_they_were():
    before = get_num_threads()
    theorems.verify(theorem(), n_jobs=2)
    assert get_num_threads() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "Not Kebab"}, "lower-case words joined by hyphens"),
        ({"experiments": ()}, "at least one Experiment"),
        (
            {"controls": (Experiment("coin", coin, (FAIR,)),)},
            "of different names. Got 'coin' twice",
        ),
    ],
)
def test_what_is_no_theorem(options, message):
    with pytest.raises(dfu.InputError, match=message):
        dataclasses.replace(theorem(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "lazy"}, "'effort' parameter of theorems.verify"),
        ({"n_sim": 0}, "'n_sim' parameter of theorems.verify"),
        ({"n_jobs": 0}, "'n_jobs' parameter of theorems.verify"),
        ({"rng": -1}, "'rng' parameter of theorems.verify"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(dfu.InputError, match=message):
        theorems.verify(theorem(), **options)
    with pytest.raises(dfu.InputError, match=r"names or Theorem objects. Got 3"):
        theorems.verify([3])
    with pytest.raises(dfu.InputError, match="at least one name"):
        theorems.verify([])


def test_events_of_given_probability():
    generator = np.random.default_rng(0)
    mean = np.tile([0.0, 0.25, 1.0], 40_000)
    happened = theorems.as_event(mean, generator).reshape(-1, 3)
    assert not happened[:, 0].any() and happened[:, 2].all()
    assert happened[:, 1].mean() == pytest.approx(0.25, abs=0.012)  # 5 sd


def test_progress_counts_experiments(capsys):
    theorems.verify(theorem(), progress=True)
    assert "2/2" in capsys.readouterr().err
    theorems.verify(theorem())
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------------- the result


def test_results_are_saved_and_loaded(tmp_path):
    result = theorems.verify(theorem())
    result.save(tmp_path / "checks.npz")
    again = dfu.load(tmp_path / "checks.npz")
    assert again.to_frame().equals(result.to_frame())
    assert str(again) == str(result) and again.exit_code == result.exit_code


def test_the_frame_has_a_row_per_claim():
    frame = theorems.verify(theorem()).to_frame()
    assert frame["control"].tolist() == [False, True]
    assert frame["verdict"].tolist() == ["holds", "violated"]
    assert (frame["low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["high"]).all()
    assert (frame["seconds"] >= 0.0).all()


def test_outcomes_of_an_unknown_theorem_are_refused():
    result = theorems.verify(theorem())
    with pytest.raises(dfu.InputError, match="'name' parameter of TheoremResult"):
        result.outcomes("nonsense")


def test_the_guarantee_counts_the_claims():
    result = theorems.verify(theorem())
    assert result.error == pytest.approx(2e-6)
    assert result.guarantee.confidence == pytest.approx(1 - 2e-6)
    many = [theorem(name=f"coin-{i}", control=None) for i in range(3)]
    assert theorems.verify(many, n_sim=1).error == pytest.approx(3e-6)
