"""The check of the built site sees what it should see."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "docs" / "check_site.py"
spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
check_site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_site)

GOOD = (
    '<a href="other.html#here">x</a><img src="a%20b.png"><a href="https://x.org">y</a>'
)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text('<h1 id="here">A</h1><a href="#here">up</a>')
    (tmp_path / "a b.png").write_bytes(b"")
    (tmp_path / "site.css").write_text("b { background: url(data:image/png;base64,) }")
    return tmp_path


def test_a_good_site_passes(site):
    assert check_site.faults(site) == []


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ('<script src="https://cdn.org/x.js"></script>', "loads https://cdn.org/x.js"),
        ('<img src="//cdn.org/x.png">', "loads //cdn.org/x.png"),
        ('<link href="http://fonts.org/a.css" rel="stylesheet">', "loads http://fonts"),
        ('<script src="gone.js"></script>', "gone.js, which is not there"),
        ('<a href="gone.html">x</a>', "gone.html, which is not there"),
        ('<a href="other.html#there">x</a>', "other.html#there, which has no such"),
        ('<a href="#there">x</a>', "#there, which has no such anchor"),
    ],
)
def test_faults_are_told(site, page, told):
    (site / "index.html").write_text(page)
    (fault,) = check_site.faults(site)
    assert fault.startswith("index.html") and told in fault
    assert check_site.main([str(site)]) == 1


def test_style_sheets_are_read_too(site):
    (site / "site.css").write_text("@import 'https://fonts.org/a.css';")
    assert check_site.faults(site) == ["site.css loads https://fonts.org/a.css"]


def test_no_site_at_all_is_a_fault(tmp_path):
    assert check_site.main([str(tmp_path)]) == 1
