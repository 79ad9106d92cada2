"""``stamina scenarios verify``: are the tests right, and how strong are they? Suites against ground truths, permissive ones and mutants."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Final

import attrs
import click

from stamina.cli.console import columns, json_option, print_json
from stamina.cli.ending import DONE, NEGATIVE
from stamina.cli.material import options_of_scenario, scenario_options
from stamina.cli.seeds import seeds_option, turns_option
from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.playing import play
from stamina.rest.domain import RestDomain, RestScenario
from stamina.rest.mutants import OPERATORS, Ground, Made, Mutant, mutants
from stamina.rest.mutants.explore import as_text, distinguishing
from stamina.rest.mutants.measure import Measured, Tally, measure, sample
from stamina.rest.permissive import Permissive
from stamina.rest.rules import ABOUT, place
from stamina.rest.schema import State
from stamina.rest.truth import Truth
from stamina.suite import CaseStatus, Suite, Verdict
from stamina.words import counted

EXPLAINED: Final = 10
"""Survivors of one turn for which requests are looked for that tell them from the truth."""


@attrs.frozen
class Survivor:
    """A mutant that the suite let live.

    Attributes:
        requests: tell it from the truth; empty when none were found, or not looked for.
    """

    seed: int
    turn: int
    operator: str
    rule: str
    target: tuple[str, ...]
    detail: str
    requests: tuple[str, ...]


@attrs.frozen
class Checked:
    """What was measured of one turn.

    Attributes:
        passed, total: cases against the ground truth.
        requests: of the suite.
        setup: those of them that only prepare: resets and objects that a case needs.
        failed: lines of what a right server failed, which is a fault of the benchmark; empty when all is well.
        tallies: of the mutants, by operator.
        reasons: why mutants are equivalent, with how many.
        refuted: mutants that were proven equivalent and killed, a fault of the benchmark.
        idle: names of the cases that were the first to kill no mutant; a small sample leaves most.
        useful: names of the others.
    """

    seed: int
    turn: int
    passed: int
    total: int
    requests: int
    setup: int
    failed: tuple[str, ...]
    tallies: dict[str, Tally]
    reasons: dict[str, int]
    survivors: tuple[Survivor, ...]
    refuted: tuple[str, ...]
    idle: tuple[str, ...]
    useful: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with the turn's suite."""
        return self.passed == self.total > 0 and not (self.failed or self.survivors or self.refuted)

    def mutants(self) -> Tally:
        """All mutants together."""
        return sum(self.tallies.values(), Tally())


@attrs.frozen
class Effort:
    """How much is played.

    Attributes:
        sample: mutants a turn, None for all.
        orders: shuffled orders in which right servers are tested, each.
        every: only every so many turns (the last is always among them).
    """

    sample: int | None
    orders: int
    every: int


@click.command()
@seeds_option
@turns_option
@click.option("--sample", type=click.IntRange(min=0), default=150, show_default=True, help="Mutants a turn, as evenly over the operators as they allow.")
@click.option("--full", is_flag=True, help="Every mutant: hours for many seeds.")
@click.option("--orders", type=click.IntRange(min=0), default=2, show_default=True, help="Shuffled orders in which each right server is tested.")
@click.option("--every", type=click.IntRange(min=1), default=1, show_default=True, help="Look at every so many turns.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes; one works on one seed.")
@click.option("--operators", is_flag=True, help="Print the table of operators, in Markdown, and measure nothing.")
@options_of_scenario
@json_option
def verify(
    *, seeds: Sequence[int], turns: int, sample: int, full: bool, orders: int, every: int, jobs: int, operators: bool, as_json: bool, **given: Any
) -> int:
    """Measure the tests: right servers must pass every suite, wrong ones none. Exit 1 when one does not."""
    if operators:
        click.echo(operator_table())
        return DONE
    effort = Effort(None if full else sample, orders, every)
    work = partial(checked_seed, turns=turns, effort=effort)
    rows: list[Checked] = []
    for found in _each(work, [scenario_options(seed, given) for seed in seeds], jobs):
        rows += found
        if not as_json:
            _print_seed(found)
    if as_json:
        print_json(as_data(rows))
    else:
        _print_all(rows)
    return DONE if all(row.good for row in rows) else NEGATIVE


def _each(work: Callable[[ScenarioOptions], list[Checked]], options: Sequence[ScenarioOptions], jobs: int) -> Iterator[list[Checked]]:
    if jobs == 1:
        yield from map(work, options)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(work, options)


def checked_seed(options: ScenarioOptions, turns: int, effort: Effort) -> list[Checked]:
    """Every turn of one scenario that is to be looked at."""
    scenario = RestDomain().scenario(options)
    history: list[Made] = []
    rows: list[Checked] = []
    for turn in range(turns + 1):
        history += [Made(turn, before, change) for before, change, _ in scenario.steps(turn)]
        if turn % effort.every == 0 or turn == turns:
            rows.append(checked_turn(scenario, Ground(scenario.state(turn), tuple(history), turn), effort))
    return rows


def checked_turn(scenario: RestScenario, ground: Ground, effort: Effort) -> Checked:
    """One turn's suite against right and wrong servers."""
    suite, seed, turn = scenario.suite(ground.turn), scenario.options.seed, ground.turn
    draw = Draw("verify", seed, turn)
    verdict = play(suite, scenario.truth(turn))
    found = _measured(suite, ground, effort.sample, draw)
    return Checked(
        seed=seed,
        turn=turn,
        passed=verdict.passed,
        total=verdict.total,
        requests=suite.requests,
        setup=sum(step.setup for case in suite.cases for step in case.steps),
        failed=(*_failed(verdict), *_wrongly_failed(suite, ground.state, effort.orders, draw)),
        tallies=found.tallies,
        reasons=found.reasons,
        survivors=tuple(_survivors(ground.state, found.survivors, seed, turn, draw)),
        refuted=tuple(f"{mutant.operator.name} {mutant.fault.detail}: {mutant.fault.equivalent}; killed by {killer}" for mutant, killer in found.refuted),
        idle=tuple(case.name for case in suite.cases if case.name not in found.useful),
        useful=tuple(sorted(found.useful)),
    )


def _measured(suite: Suite, ground: Ground, size: int | None, draw: Draw) -> Measured:
    return measure(suite, list(mutants(ground)) if size is None else sample(OPERATORS, ground, size, draw.at("mutants")))


def _wrongly_failed(suite: Suite, state: State, orders: int, draw: Draw) -> Iterator[str]:
    """What servers that are right fail: permissive ones, the first time in order, and they and the truth in shuffled orders."""
    for order in range(orders + 1):
        cases = draw.at("order", order).shuffled(suite.cases) if order else suite.cases
        servers = {"permissive": Permissive(state, draw.at("latitude", order)).handle, **({"truth": Truth(state).handle} if order else {})}
        for name, server in servers.items():
            yield from (f"{name}, order {order}: {line}" for line in _failed(play(Suite(tuple(cases)), server)))


def _failed(verdict: Verdict) -> Iterator[str]:
    for result in verdict.results:
        if result.status is not CaseStatus.PASSED:
            yield f"{result.case.name}: {result.failure.message if result.failure else result.reason}"


def _survivors(state: State, found: Iterable[Mutant], seed: int, turn: int, draw: Draw) -> Iterator[Survivor]:
    for number, mutant in enumerate(found):
        requests = as_text(distinguishing(state, mutant, draw.at("explore", number))) if number < EXPLAINED else ()
        yield Survivor(seed, turn, mutant.operator.name, mutant.operator.rule, mutant.fault.target, mutant.fault.detail, requests)


# --- what is shown


def operator_table() -> str:
    """Every operator by rule, as a Markdown table."""
    rows = sorted(OPERATORS, key=lambda each: place(each.rule))
    return "\n".join(["| rule | operator | the faulty server |", "|---|---|---|", *(f"| {each.rule} | `{each.name}` | {each.summary} |" for each in rows)])


def as_data(rows: Sequence[Checked]) -> dict[str, Any]:
    """The form of ``--json``."""
    whole = sum((row.mutants() for row in rows), Tally())
    return {
        "cases": {"passed": sum(row.passed for row in rows), "total": sum(row.total for row in rows)},
        "killed": whole.killed,
        "total": whole.total,
        "equivalent": whole.equivalent,
        "survivors": [attrs.asdict(each) for row in rows for each in row.survivors],
        "failed": [f"seed {row.seed} turn {row.turn}: {line}" for row in rows for line in (*row.failed, *row.refuted)],
        "reasons": dict(_reasons(rows)),
        "operators": {name: attrs.asdict(tally) for name, tally in by_operator(rows).items()},
        "turns": [
            {
                "seed": row.seed,
                "turn": row.turn,
                "passed": row.passed,
                "total": row.total,
                "requests": row.requests,
                "setup": row.setup,
                "mutants": attrs.asdict(row.mutants()),
            }
            for row in rows
        ],
        "idle": idle(rows),
    }


def by_operator(rows: Iterable[Checked]) -> dict[str, Tally]:
    """The tallies of all turns together, in the order of the operators."""
    sums: defaultdict[str, Tally] = defaultdict(Tally)
    for row in rows:
        for name, tally in row.tallies.items():
            sums[name] += tally
    return {each.name: sums[each.name] for each in OPERATORS}


def idle(rows: Sequence[Checked]) -> dict[str, int]:
    """Cases that found no mutant first in any turn, as seed and name, with the number of turns in which they were played."""
    played: Counter[str] = Counter()
    useful: set[str] = set()
    for row in rows:
        names = {f"seed {row.seed} {name}" for name in row.idle}
        played.update(names)
        useful.update(f"seed {row.seed} {name}" for name in row.useful)
    return {name: count for name, count in sorted(played.items()) if name not in useful}


def _reasons(rows: Iterable[Checked]) -> Counter[str]:
    return sum((Counter(row.reasons) for row in rows), Counter[str]())


def _print_seed(rows: Sequence[Checked]) -> None:
    """One line a seed, and one for everything that is wrong."""
    whole = sum((row.mutants() for row in rows), Tally())
    passed, total, requests = sum(row.passed for row in rows), sum(row.total for row in rows), sum(row.requests for row in rows)
    cases = f"{passed}/{total} cases, {counted(requests, 'request')}, last suite {counted(rows[-1].total, 'case')}"
    mutants = f"mutants {whole.killed}/{whole.total} killed, {whole.equivalent} equivalent"
    click.echo(f"seed {rows[0].seed}: {counted(len(rows), 'turn')}, {cases}; {mutants}")
    for row in rows:
        for line in (*row.failed, *(f"wrongly proven equivalent: {each}" for each in row.refuted)):
            click.echo(f"  turn {row.turn}: {line}")
        for each in row.survivors:
            click.echo(f"  turn {row.turn}: survivor of {each.operator} ({each.rule}): {each.detail}")
            for request in each.requests:
                click.echo(f"    {request}")


def _print_all(rows: Sequence[Checked]) -> None:
    """The tables: by rule, by turn, and why mutants are equivalent."""
    _print_economy(rows)
    if not any(row.tallies for row in rows):
        _print_end(rows)
        return
    rules: defaultdict[str, list[Tally]] = defaultdict(list)
    tallies = by_operator(rows)
    for each in OPERATORS:
        rules[each.rule].append(tallies[each.name])
    lines = [(rule, str(len(rules[rule])), *_cells(rules[rule]), ABOUT[rule]) for rule in sorted(rules, key=place)]
    click.echo("\n" + columns(("rule", "operators", "killed", "total", "equivalent", "about"), lines))
    turns: defaultdict[int, list[Tally]] = defaultdict(list)
    for row in rows:
        turns[row.turn].append(row.mutants())
    click.echo("\n" + columns(("turn", "killed", "total", "equivalent"), ((str(turn), *_cells(turns[turn])) for turn in sorted(turns))))
    reasons = _reasons(rows)
    if reasons:
        click.echo("\n" + columns(("equivalent", "because"), ((str(count), reason) for reason, count in reasons.most_common())))
    _print_end(rows)


def _print_economy(rows: Sequence[Checked]) -> None:
    """Cases and requests of a suite, over the seeds; every 25th turn and the last."""
    last = max(row.turn for row in rows)
    lines = []
    for turn in sorted({row.turn for row in rows if row.turn % 25 == 0 or row.turn == last}):
        some = [row for row in rows if row.turn == turn]
        cases, requests = sorted(row.total for row in some), sorted(row.requests for row in some)
        share = sum(row.setup for row in some) / sum(requests)
        per = sum(requests) / sum(cases)
        spread = [f"{each[0]}-{each[-1]} ({each[len(each) // 2]})" if each[0] < each[-1] else str(each[0]) for each in (cases, requests)]
        lines.append((str(turn), *spread, f"{per:.1f}", f"{share:.0%}"))
    click.echo("\n" + columns(("turn", "cases (median)", "requests (median)", "a case", "set-up"), lines))
    never = idle(rows)
    if any(row.tallies for row in rows):
        names = {f"{row.seed} {name}" for row in rows for name in (*row.idle, *row.useful)}
        click.echo(f"{len(names) - len(never)} of {len(names)} cases were the first to find some mutant out, the others none of this sample")


def _print_end(rows: Sequence[Checked]) -> None:
    passed, total = sum(row.passed for row in rows), sum(row.total for row in rows)
    whole = sum((row.mutants() for row in rows), Tally())
    click.echo(f"\n{passed} of {counted(total, 'case')} passed against the ground truth in {counted(len(rows), 'turn')}")
    click.echo(f"{whole.killed} of {counted(whole.total, 'mutant')} killed; {whole.equivalent} more are equivalent")


def _cells(tallies: Sequence[Tally]) -> tuple[str, str, str]:
    whole = sum(tallies, Tally())
    return str(whole.killed), str(whole.total), str(whole.equivalent)
