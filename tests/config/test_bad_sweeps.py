"""Bad sweep files: one line a problem, with file, line, key, what was expected and the nearest right name."""

from pathlib import Path

import pytest

from stamina.config.load import check_keys, load
from stamina.errors import InputError
from tests.config.config_samples import HARNESSES, LARGE, SMALL, sweep

AGENT = '[[agent]]\nharness = "reference"\n'
SWEEP = '[sweep]\nname = "x"\nseeds = 0\n'
MODEL = '[model.glm-5]\nprovider = "openai"\nid = "m"\ncontext_window = 8192\n'

BAD = {
    "unknown key": (
        SMALL.replace('seeds = "0-1"', 'seeds = "0-1"\ntuns = 5'),
        's.toml:4: [sweep] tuns: unknown key; did you mean "turns"?',
    ),
    "unknown table": (SMALL + "[sweeps]\nx = 1\n", 's.toml:7: [sweeps]: unknown key; did you mean "sweep"?'),
    "nothing near": (
        SMALL + "[budget]\nzzz = 1\n",
        "s.toml:8: [budget] zzz: unknown key; keys here: scenario_usd, sweep_usd, turn_usd, call_usd",
    ),
    "missing key": (SMALL.replace('name = "small"\n', ""), "s.toml:1: [sweep] name: missing, and it has no default"),
    "missing table": (AGENT, "s.toml: [sweep]: missing, and it has no default"),
    "wrong type": (SWEEP + 'turns = "5"\n' + AGENT, 's.toml:4: [sweep] turns: expected a whole number from 0 to 10000, got "5"'),
    "true is no number": (SWEEP + "retries = true\n" + AGENT, "s.toml:4: [sweep] retries: expected a whole number from 0 to 100, got true"),
    "negative retries": (SWEEP + "retries = -1\n" + AGENT, "s.toml:4: [sweep] retries: expected a whole number from 0 to 100, got -1"),
    "too many turns": (SWEEP + "turns = 10001\n" + AGENT, "s.toml:4: [sweep] turns: expected a whole number from 0 to 10000, got 10001"),
    "no time": (SWEEP + "call_seconds = 0\n" + AGENT, "s.toml:4: [sweep] call_seconds: expected a number above 0 and at most 604800, got 0"),
    "infinite time": (SWEEP + "call_seconds = inf\n" + AGENT, "s.toml:4: [sweep] call_seconds: expected a number above 0 and at most 604800, got inf"),
    "bad choice": (
        SWEEP + 'feedback = "detaild"\n' + AGENT,
        's.toml:4: [sweep] feedback: expected "detailed" or "medium" or "minimal", got "detaild"; did you mean "detailed"?',
    ),
    "folder in a name": (
        SMALL.replace('"small"', '"../x"'),
        's.toml:2: [sweep] name: expected a name of at most 64 letters, digits, dots, dashes and underscores, got "../x"',
    ),
    "seeds that are none": (
        SMALL.replace('"0-1"', '"0,x"'),
        's.toml:3: [sweep] seeds: expected seeds such as "0-19", "0,3,7-9" or [0, 1], got "0,x" ("x" is neither a number nor a range)',
    ),
    "seeds wrong twice": (
        SMALL.replace('"0-1"', '"5-2,x"'),
        's.toml:3: [sweep] seeds: has the range 5-2, which runs backwards; write 2-5; expected seeds such as "0-19", "0,3,7-9" or [0, 1], got "5-2,x"'
        ' ("x" is neither a number nor a range)',
    ),
    "seeds backwards": (SMALL.replace('"0-1"', '"9-3"'), "s.toml:3: [sweep] seeds: has the range 9-3, which runs backwards; write 3-9"),
    "seed twice": (SMALL.replace('"0-1"', '"0-4,3"'), "s.toml:3: [sweep] seeds: names seed 3 twice"),
    "no seeds": (SMALL.replace('"0-1"', "[]"), "s.toml:3: [sweep] seeds: names no seed; at least one is needed"),
    "wrong seeds": (SMALL.replace('"0-1"', "[0, 1.5]"), 's.toml:3: [sweep] seeds: expected seeds such as "0-19", "0,3,7-9" or [0, 1], got a list of 2'),
    "endless seeds": (
        SMALL.replace('"0-1"', '"0-999999999"'),
        "s.toml:3: [sweep] seeds: has the range 0-999999999: seeds go up to 9007199254740991, and a range holds at most 100000 of them",
    ),
    "unknown harness": (SMALL.replace("reference", "refrence"), 's.toml:6: [[agent]] 1, harness: there is no harness "refrence"; did you mean "reference"?'),
    "unknown harness, nothing near": (
        SMALL.replace("reference", "zzz"),
        's.toml:6: [[agent]] 1, harness: there is no harness "zzz"; harnesses: mock, opencode, reference',
    ),
    "another harness's key": (
        SMALL + "chance = 0.5\n",
        "s.toml:7: [[agent]] 1, chance: unknown key for harness reference; it is a key of harness mock",
    ),
    "wrong option": (LARGE.replace("chance = 0.5", 'chance = "often"'), 's.toml:20: [[agent]] 2, chance: expected a number, got "often"'),
    "misspelt option": (LARGE.replace("chance = 0.5", "chanc = 0.5"), 's.toml:20: [[agent]] 2, chanc: unknown key for harness mock; did you mean "chance"?'),
    "wrong option element": (LARGE.replace('["validation"]', "[1]"), "s.toml:21: [[agent]] 2, kinds.1: expected text, got 1"),
    "undefined model": (
        LARGE.replace('model = "glm-5"', 'model = "glm5"'),
        's.toml:16: [[agent]] 1, model: there is no [model.glm5] in this file; did you mean "glm-5"?',
    ),
    "no models at all": (
        SWEEP + '[[agent]]\nharness = "opencode"\nmodel = "m"\n',
        "s.toml:6: [[agent]] 1, model: there is no [model.m] in this file; there are no models",
    ),
    "model needed": (
        SWEEP + '[[agent]]\nharness = "opencode"\n',
        "s.toml:4: [[agent]] 1: harness opencode runs a model: add model = the name of a [model.NAME]",
    ),
    "model useless": (
        SMALL + 'model = "glm-5"\n' + MODEL,
        "s.toml:7: [[agent]] 1, model: harness reference runs no model; leave the key out",
    ),
    "no agents": ("agent = []\n" + SWEEP, "s.toml:1: [agent]: at least one [[agent]] is needed"),
    "one bracket too few": (SWEEP + '[agent]\nharness = "reference"\n', "s.toml:4: [agent]: expected a list, got a table"),
    "unsafe": (
        LARGE.replace('engine = "docker"', 'engine = "process"'),
        's.toml:9: [sandbox] engine: harness opencode runs a model, whose commands engine = "process" does not isolate from this machine; '
        "use docker or podman, or accept the risk with allow_unsandboxed = true",
    ),
    "memory": (
        LARGE.replace('"4GiB"', '"4 gigs"'),
        's.toml:10: [sandbox] memory: expected a size of at least 16 MiB, such as "512MiB" or "4GiB", got "4 gigs"',
    ),
    "memory without unit": (
        LARGE.replace('"4GiB"', "4096"),
        's.toml:10: [sandbox] memory: expected a size of at least 16 MiB, such as "512MiB" or "4GiB", got 4096',
    ),
    "bad variable name": (
        LARGE.replace("LANG =", '"LA NG" ='),
        's.toml:11: [sandbox] env.LA NG: expected the name of an environment variable, got "LA NG"',
    ),
    "negative price": (LARGE.replace("0.60", "-0.60"), "s.toml:27: [model.glm-5] price.input: expected a number of at least 0, got -0.6"),
    "a limit without a price": (
        LARGE.replace("price = { input = 0.60, output = 2.08 }\n", "").replace("zai.glm-5", "zai.glm-6"),
        "s.toml:23: [model.glm-5]: there is a [budget], but no price is known for this model: add price = { input = …, output = … }, USD per million tokens",
    ),
    "no common protocol": (
        LARGE.replace('"bedrock"', '"gemini"'),
        's.toml:16: [[agent]] 1, model: harness opencode cannot use model glm-5: provider = "gemini" speaks gemini, not chat',
    ),
    "vary something else": (LARGE.replace("language = [", "lang = ["), 's.toml:36: [[vary]] 1, lang: unknown key; did you mean "language"?'),
    "vary seeds": (
        LARGE.replace('language = ["python", "rust"]', "concurrency = [1, 2]"),
        "s.toml:36: [[vary]] 1, concurrency: unknown key; keys here: turns, retries, feedback, language, on_exhausted, changes_per_turn, sampler, "
        "seed_salt, call_seconds, call_model_idle_seconds, call_progress_idle_seconds, server_start_seconds, answer_seconds, infra_retries, version, model",
    ),
    "vary a wrong value": (
        LARGE.replace('"rust"]', '"rost"]'),
        's.toml:36: [[vary]] 1, language.2: expected "python" or "javascript" or "rust" or "go" or "any", got "rost"; did you mean "rust"?',
    ),
    "vary no list": (LARGE.replace('["python", "rust"]', '"rust"'), 's.toml:36: [[vary]] 1, language: expected a list, got "rust"'),
    "vary nothing": (LARGE.replace('["python", "rust"]', "[]"), "s.toml:36: [[vary]] 1, language: expected at least one value, got an empty list"),
    "vary twice": (LARGE.replace('"python", "rust"', '"rust", "rust"'), "s.toml:36: [[vary]] 1, language: has rust twice; repetitions are [sweep] repeats"),
    "vary a model of none": (
        SMALL + MODEL + '[[vary]]\nmodel = ["glm-5"]\n',
        "s.toml:12: [[vary]] 1, model: harness reference runs no model, so its model cannot vary",
    ),
    "twins": (
        SMALL + AGENT,
        's.toml:7: [[agent]] 2: has the same name "reference" as agent 1; give each a name = "…" of its own (for repetitions: [sweep] repeats)',
    ),
    "key in the file": (
        LARGE.replace('"GLM_KEY"', '"sk-123"'),
        's.toml:28: [model.glm-5] api_key_env: expected the name of an environment variable, got "sk-123"',
    ),
    "no TOML": ("[sweep]\nname = x\n", "s.toml:2: not valid TOML: Invalid value (column 8)"),
    "all at once": (
        SWEEP + 'turns = -1\ntuns = 2\n[[agent]]\nharnes = "mock"\n',
        "s.toml:4: [sweep] turns: expected a whole number from 0 to 10000, got -1\n"
        's.toml:5: [sweep] tuns: unknown key; did you mean "turns"?\n'
        "s.toml:6: [[agent]] 1, harness: missing, and it has no default",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_says_what_is_wrong_and_where(case: str) -> None:
    """The whole message, word for word."""
    text, message = BAD[case]

    with pytest.raises(InputError) as caught:
        sweep(text)

    assert message == str(caught.value)


FLAGS = {
    "sweep.turns=-4": "--set sweep.turns=-4: [sweep] turns: expected a whole number from 0 to 10000, got -4",
    "sweep.tuns=4": '--set sweep.tuns=4: [sweep] tuns: unknown key; did you mean "turns"?',
    "sweep.seeds=x": '--set sweep.seeds=x: [sweep] seeds: expected seeds such as "0-19", "0,3,7-9" or [0, 1], got "x" ("x" is neither a number nor a range)',
    "agent.0.harness=moc": '--set agent.0.harness=moc: [[agent]] 1, harness: there is no harness "moc"; did you mean "mock"?',
    "agent.1.harness=mock": "--set agent.1.harness=mock: nothing to set at 1: there is a list of 1, counted from 0",
    "sweep.turns.x=1": "--set sweep.turns.x=1: nothing to set at x: there is 5, which is no table",
    "turns": "--set turns: expected table.key=value, such as sweep.turns=5 or agent.0.model=glm-5",
    "=5": "--set =5: expected table.key=value, such as sweep.turns=5 or agent.0.model=glm-5",
}


@pytest.mark.parametrize("flag", FLAGS)
def test_names_the_flag_that_is_wrong(flag: str) -> None:
    """A value from ``--set`` is checked like one from the file, and blamed on the flag."""
    with pytest.raises(InputError) as caught:
        sweep(SMALL.replace("[[agent]]", "turns = 5\n[[agent]]"), flag)

    assert FLAGS[flag] == str(caught.value)


def test_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    """With the nearest one that is."""
    (tmp_path / "quickstart.toml").write_text(SMALL)
    wanted = tmp_path / "quikstart.toml"

    with pytest.raises(InputError) as caught:
        load(wanted, harnesses=HARNESSES)

    assert f'{wanted}: there is no such file; did you mean "quickstart.toml"?' == str(caught.value)


def test_refuses_a_folder_and_a_binary_file(tmp_path: Path) -> None:
    """One message each, no traceback."""
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path, harnesses=HARNESSES)
    with pytest.raises(InputError, match="not a text file in UTF-8"):
        load(tmp_path / "binary.toml", harnesses=HARNESSES)


def test_a_missing_secret_stops_only_a_real_run() -> None:
    """Loading needs no keys; the separate check names model and variable."""
    loaded = sweep(LARGE)

    check_keys(loaded, {"GLM_KEY": "x"})
    with pytest.raises(InputError, match=r"^\[model.glm-5\] api_key_env: the variable GLM_KEY is not set$"):
        check_keys(loaded, {})
