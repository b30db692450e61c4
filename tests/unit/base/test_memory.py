"""How much memory there is: the machine's, the process's own limit, its groups'."""

import pytest

from distfreeuq import InputError
from distfreeuq._base import memory
from distfreeuq._base.arguments import Arguments


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Return what makes the files of Linux's control groups."""
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")

    def make(own, **limits):
        (tmp_path / "own").write_text(own)
        for path, text in limits.items():
            file = tmp_path / "groups" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    return make


def test_a_group_has_no_more_than_those_around_it(groups):
    groups(
        "0::/jobs/17/step\n",
        **{
            "jobs/17/step/memory.max": "max\n",
            "jobs/17/memory.max": "2000000\n",
            "jobs/memory.max": "7000000\n",
        },
    )
    assert memory._control_groups() == 2e6
    assert memory.available_memory() == 2e6


def test_a_container_sees_its_own_group_as_the_root(groups):
    groups("0::/host/path/of/it\n", **{"memory.max": "3000000\n"})
    assert memory._control_groups() == 3e6


def test_groups_of_the_first_version(groups):
    groups(
        "12:cpu,cpuacct:/a\n4:memory:/a\n1:name=systemd:/\n0::/\n",
        **{
            "memory/a/memory.limit_in_bytes": "5000000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert memory._control_groups() == 5e6


def test_elsewhere_there_are_none(groups):
    assert memory._control_groups() == float("inf")
    groups("nothing that Linux writes\n4:memory\n")
    assert memory._control_groups() == float("inf")


def test_what_does_not_fit_is_refused_with_both_sizes(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**30)
    args = Arguments("bbse")
    memory.check_memory(args, "probs", "of fewer classes", 2.0**30)
    said = "'probs' parameter of bbse must be of fewer classes.* 1.5 GiB .* 1 GiB"
    with pytest.raises(InputError, match=said):
        memory.check_memory(args, "probs", "of fewer classes", 1.5 * 2.0**30)
