"""Where figures go: to pyplot if it is in use, and nowhere else."""

import subprocess
import sys
import textwrap
import threading

import matplotlib as mpl
import pytest

import distfreeuq as dfu
from distfreeuq.plots.new_figures import ShownFigure, outside_pyplot

FIT = "fit = dfu.split_conformal([[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30, rng=0)"


def in_a_fresh_process(script, folder):
    """Run a script that has its figures drawn by Agg, in an empty folder."""
    start = "import matplotlib, sys\nmatplotlib.use('Agg')\nimport distfreeuq as dfu\n"
    whole = f"{start}{FIT}\n{textwrap.dedent(script)}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", whole],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def ink(path):
    """Return the share of pixels that are not white."""
    from matplotlib.image import imread

    return float((imread(path)[..., :3] < 1.0).any(axis=2).mean())


@pytest.fixture
def pyplot():
    before = dict.__getitem__(mpl.rcParams, "backend")  # asking chooses one
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    yield plt
    plt.close("all")
    if isinstance(before, str):
        mpl.use(before)


@pytest.fixture
def fit():
    return dfu.split_conformal([[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30, rng=0)


@pytest.mark.slow
def test_pyplot_is_never_imported(tmp_path):
    script = """
        ax = fit.plot()
        ax.figure.savefig("own.png")
        assert type(ax).__name__ == "ShownAxes"
        assert "matplotlib.pyplot" not in sys.modules
    """
    in_a_fresh_process(script, tmp_path)
    assert ink(tmp_path / "own.png") > 0.02


@pytest.mark.slow
def test_savefig_of_pyplot_writes_what_was_drawn(tmp_path):
    script = """
        import matplotlib.pyplot as plt
        fit.plot()
        plt.savefig("drawn.png")
        plt.figure()
        plt.savefig("blank.png")
    """
    in_a_fresh_process(script, tmp_path)
    assert ink(tmp_path / "drawn.png") > 0.02
    assert ink(tmp_path / "blank.png") == 0.0


def test_pyplot_knows_each_new_figure(fit, pyplot):
    first = fit.plot()
    assert pyplot.gca() is first
    second = fit.plot()
    assert pyplot.gcf() is second.figure
    assert pyplot.get_fignums() == [1, 2]


def test_a_figure_of_pyplot_is_shown_once(fit, pyplot):
    ax = fit.plot()
    assert not hasattr(ax, "_repr_png_") and not hasattr(ax.figure, "_repr_png_")


def test_what_waits_empty_is_drawn_on(fit, pyplot):
    figure = pyplot.figure(figsize=(8, 2))
    assert fit.plot().figure is figure
    _, axes = pyplot.subplots(1, 2)
    for ax in axes:
        pyplot.sca(ax)
        assert fit.plot() is ax
    assert pyplot.get_fignums() == [1, 2]


@pytest.mark.parametrize("kind", ["drawn on", "polar", "without axes", "with a text"])
def test_what_is_taken_is_left_alone(fit, pyplot, kind):
    if kind == "drawn on":
        pyplot.plot([0, 1])
    elif kind == "polar":
        pyplot.subplot(projection="polar")
    elif kind == "without axes":
        pyplot.subplot().set_axis_off()
    else:
        pyplot.figure().text(0.5, 0.5, "a title page")
    taken = pyplot.gcf()
    assert fit.plot().figure is not taken


def test_own_figures_leave_pyplot_as_it_is(fit, pyplot):
    with outside_pyplot():
        assert isinstance(fit.plot().figure, ShownFigure)
    found = []
    thread = threading.Thread(target=lambda: found.append(fit.plot().figure))
    thread.start()
    thread.join()
    assert isinstance(found[0], ShownFigure)
    assert pyplot.get_fignums() == []


def test_reports_leave_pyplot_as_it_is(pyplot, tmp_path):
    probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    page = dfu.report(probs, labels, probs, labels_target=labels, rng=0)
    page.write(tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert pyplot.get_fignums() == []
