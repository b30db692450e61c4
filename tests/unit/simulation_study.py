"""A small study that other processes can run too: ``python -m`` with a file name."""

import sys
import time

import distfreeuq as dfu
from distfreeuq import scenarios

N_REP = 150


def some_numbers(toy, rng, n=20, pause=0.0):
    x, labels = toy.sample(n, "target", rng=rng)
    time.sleep(pause)
    return {"mean": x.mean(), "first": labels[0], "undefined": float("nan")}


def study(file=None, *, n_jobs=1, pause=0.0, rng=7, n_rep=N_REP):
    return dfu.simulate(
        scenarios.three_gaussians(),
        some_numbers,
        n_rep,
        parameters={"n": 20, "pause": pause},
        rng=rng,
        n_jobs=n_jobs,
        file=file,
    )


if __name__ == "__main__":
    study(sys.argv[1], n_jobs=int(sys.argv[2]), pause=float(sys.argv[3]))
