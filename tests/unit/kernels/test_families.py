"""Every family of kernels is listed, typed and has its source."""

from pathlib import Path

import pytest

from distfreeuq import _kernels

SOURCES = Path(__file__).parents[3] / "src_c"


def stems(folder, pattern):
    return sorted(path.stem for path in folder.glob(pattern))


def test_every_family_is_typed():
    folder = Path(_kernels.__file__).parent
    assert list(_kernels.FAMILIES) == stems(folder, "_*.pyi")


@pytest.mark.skipif(not SOURCES.is_dir(), reason="needs the sources of the core")
def test_every_source_is_a_family():
    assert list(_kernels.FAMILIES) == stems(SOURCES, "_*.pyx")
