"""``wilds-targeted simulate``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wilds_targeted.cli._numbers import WholeNumbers

_QUICK: dict[str, Any] = {
    "p_noise": 50,
    "p_spurious": 50,
    "sample_sizes": (10_000, 500),
    "domain_counts": (3, 10, 30, 100, 300),
    "seeds": 3,
    "ood_domains": 300,
}
"""What `--quick` puts in the place of the paper's sizes."""

_SETTING: tuple[tuple[str, type, str], ...] = (
    ("p_obj", int, "Object features: the label depends on them, the domain does not.  [5]"),
    ("p_noise", int, "Noise features: nothing depends on them.  [500]"),
    ("p_robust", int, "Robust features: they depend on the domain, and the label on what they depend on.  [5]"),
    ("p_spurious", int, "Spurious features: they depend on the domain, the label does not.  [500]"),
    ("sigma2", float, "Variance of robust and spurious features within a domain.  [0.1]"),
    ("tau2", float, "Variance of their means between domains.  [1]"),
    ("sigma_epsilon", float, "Standard deviation of the label's noise.  [0.1]"),
    ("norm_obj", float, "Length of beta_obj, the label's weights of the object features.  [1]"),
    ("norm_robust", float, "Length of beta_robust, its weights of the robust attributes.  [1]"),
)

_PLAN: tuple[tuple[str, type, str], ...] = (
    ("seeds", int, "How often everything is drawn anew.  [10]"),
    ("copies", int, "How often the augmentation runs over the training examples.  [5]"),
    ("validation", int, "In-domain examples that the ridge penalty is chosen on.  [10000]"),
    ("test", int, "In-domain test examples.  [10000]"),
    ("ood_domains", int, "New domains to test on.  [1000]"),
    ("ood_test", int, "Test examples of these.  [10000]"),
)


def _numeric_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name, kind, text in reversed((*_SETTING, *_PLAN)):
        dashed = name.replace("_", "-")
        spellings = dict.fromkeys((f"--{dashed}", f"--{name}"))
        function = click.option(*spellings, type=kind, help=text)(function)
    return function


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results.csv, the figures and the page.  [simulation, or simulation-quick]",
)
@click.option("--quick", is_flag=True, help="Smaller sizes, a few seconds: to look at it, not to quote.")
@click.option("--advise", is_flag=True, help="Tell in words what targeted augmentation buys; simulate nothing.")
@click.option(
    "--domains",
    "domain_counts",
    type=WholeNumbers(1),
    metavar="D,D,…",
    help="Numbers of training domains.  [5,10,25,50,100,200,400,800,1600; with --advise 100]",
)
@click.option(
    "--samples",
    "sample_sizes",
    type=WholeNumbers(1),
    metavar="N,N,…",
    help="Numbers of training examples in all domains together, a panel each.  [100000,5000]",
)
@_numeric_options
@click.option("--jobs", type=click.IntRange(1), help="Processes; by default as many as there are cores.")
def command(out: Path | None, quick: bool, advise: bool, jobs: int | None, **numbers: Any) -> None:
    """Simulate the paper's linear setting: Figure 3, with your own numbers if you like.

    Draws domains and examples, trains ridge regression without augmentation and with a generic, a targeted and a
    domain-invariant one, and shows the errors in and out of domain against the number of training domains, with the
    theorems' bounds. Called again with the same options it goes on where it was.

    \b
      wilds-targeted simulate
      wilds-targeted simulate --quick
      wilds-targeted simulate --advise --domains 48 --p-robust 10 --p-spurious 300
    """
    given = {name: value for name, value in numbers.items() if value is not None}
    if advise:
        _advise({"quick": True, **given} if quick else given)
        return
    from wilds_targeted.theory.experiment import Plan, run, summarize
    from wilds_targeted.theory.report import table, write_report
    from wilds_targeted.theory.setting import LinearSetting

    out = out or Path("simulation-quick" if quick else "simulation")
    chosen = {**(_QUICK if quick else {}), **given}
    names = [name for name, _, _ in _SETTING]
    setting = LinearSetting(**{name: chosen.pop(name) for name in names if name in chosen})
    plan = Plan(setting=setting, **chosen)
    points = summarize(run(plan, out, jobs=jobs))
    page = write_report(out, plan, points, f"wilds-targeted {shlex.join(sys.argv[1:])}")
    click.echo(table(plan, points))
    click.echo(f"Means over {plan.seeds} seeds (standard error). The page: {page}")


def _advise(given: dict[str, Any]) -> None:
    from wilds_targeted.errors import ConfigError
    from wilds_targeted.theory.advice import advise, describe
    from wilds_targeted.theory.setting import LinearSetting

    counts = given.pop("domain_counts", (100,))
    names = [name for name, _, _ in _SETTING]
    unused = [name for name in given if name not in names]
    if unused:
        option = {"sample_sizes": "samples"}.get(unused[0], unused[0].replace("_", "-"))
        raise ConfigError(f"--{option} does not go with --advise, which is about infinite data. Leave it out.")
    setting = LinearSetting(**given)
    click.echo("\n\n".join(describe(advise(setting, count)) for count in counts))
