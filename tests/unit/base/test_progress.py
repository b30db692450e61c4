"""Bars are seen where they are asked for, and otherwise nothing of tqdm's is used."""

import subprocess
import sys

from distfreeuq._base.progress import progress_bar


def test_items_pass_with_and_without_a_bar(capsys):
    assert list(progress_bar(range(3), shown=False, desc="none")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    assert list(progress_bar(range(3), shown=True, desc="some")) == [0, 1, 2]
    assert "some: 100%" in capsys.readouterr().err


def test_a_bar_is_updated_by_hand(capsys):
    for shown in (False, True):
        with progress_bar(total=5, initial=2, shown=shown, desc="hand") as bar:
            bar.update()
            bar.update(2)
        assert ("5/5" in capsys.readouterr().err) is shown


def test_without_a_bar_tqdm_is_not_even_imported():
    script = (
        "import sys\n"
        "import distfreeuq as dfu\n"
        "draw, echo = (lambda rng: rng.random()), (lambda u, rng: {'u': u})\n"
        "dfu.simulate(draw, echo, 3, rng=0)\n"
        "dfu.assess([[0.8, 0.2]] * 40, [0, 1] * 20, n_boot=20, rng=0)\n"
        "assert 'tqdm' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
