#!/usr/bin/env python3
"""Runs Optuna for `octet sweep --optuna`, which starts this program and exchanges lines of JSON with it, one reply per
line.

usage: octet_optuna.py JOURNAL SPACE SEED

SPACE: a JSON list of {"name", "kind": "list" | "linear" | "log", "whole", "low", "high", "values"}.

    {"op": "ask", "trial": T}                              {"values": ["0.001", ...]}, or null: no others were found
    {"op": "report", "trial": T, "step": K, "value": V}    {"prune": false}
    {"op": "tell", "trial": T, "value": V | null, "pruned": false}    {}

Trials are identified by the sweep's number, which the study stores as a user attribute: a trial that was requested before a
crash is returned again, and the result of a trial is stored once. A reply {"error": TEXT} is the last.
"""

import json
import math
import random
import signal
import sys

MISSING = ("--optuna needs Python's optuna: pip install optuna, or name another Python with OCTET_PYTHON")
STARTUP_TRIALS = 5  # before the median is one
WARMUP_STEPS = 5    # of 20, before which nothing is pruned
AGAIN_MAX = 5       # suggestions of what was tried already, after which a point is drawn
DRAWS_MAX = 100000  # points drawn, after which there is nothing else


def word(key, value):
    """Formats a value of Optuna's as a word for --set."""
    if key["kind"] == "list" or key["whole"]:
        return str(value)
    return repr(min(max(float(f"{value:.4g}"), key["low"]), key["high"]))  # as a random draw has


def suggest(trial, key):
    """Suggests a value, as a word for --set."""
    name = key["name"]
    if key["kind"] == "list":
        return trial.suggest_categorical(name, key["values"])
    is_log = key["kind"] == "log"
    if key["whole"]:
        return word(key, trial.suggest_int(name, int(key["low"]), int(key["high"]), log=is_log))
    return word(key, trial.suggest_float(name, key["low"], key["high"], log=is_log))


def draw(rng, key):
    """Draws a value, in Optuna's form."""
    if key["kind"] == "list":
        return rng.choice(key["values"])
    half = 0.5 if key["whole"] else 0
    low, high = key["low"] - half, key["high"] + half
    value = math.exp(rng.uniform(math.log(low), math.log(high))) if key["kind"] == "log" else rng.uniform(low, high)
    return min(max(round(value), int(key["low"])), int(key["high"])) if key["whole"] else value


class Study:
    def __init__(self, optuna, journal, space, seed):
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna, self.space, self.seed, self.trials = optuna, space, seed, {}
        self.study = optuna.create_study(
            study_name="octet", storage=JournalStorage(JournalFileBackend(journal)), direction="maximize",
            load_if_exists=True, sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS, n_warmup_steps=WARMUP_STEPS))

    def find(self, number):
        """Returns the trial with this number from the journal, ready to be asked, or None."""
        if number not in self.trials:
            for frozen in self.study.get_trials(deepcopy=False):
                if frozen.user_attrs.get("trial") == number:
                    self.trials[number] = self.optuna.trial.Trial(self.study, frozen._trial_id)
        return self.trials.get(number)

    def values(self, trial):
        return [suggest(trial, key) for key in self.space]

    def drawn(self, number, tried):
        """Returns a point that was not tried, for the next trial, or None."""
        rng = random.Random(f"{self.seed} {number}")
        for _ in range(DRAWS_MAX):
            point = {key["name"]: draw(rng, key) for key in self.space}
            if tuple(word(key, point[key["name"]]) for key in self.space) not in tried:
                return point
        return None

    def ask(self, number):
        """Returns the values of a trial. No point is returned twice, because its runs would have the seeds of existing
        runs."""
        trial = self.find(number)
        if trial is not None:
            return {"values": self.values(trial)}
        asked = [frozen.user_attrs["trial"] for frozen in self.study.get_trials(deepcopy=False)
                 if "trial" in frozen.user_attrs]
        tried = {tuple(self.values(self.find(earlier))) for earlier in asked}
        for again in range(AGAIN_MAX + 1):
            if again == AGAIN_MAX:  # what repeats itself, without results, goes on so
                point = self.drawn(number, tried)
                if point is None:
                    break
                self.study.enqueue_trial(point)
            trial = self.study.ask()
            values = self.values(trial)
            if tuple(values) not in tried:
                self.trials[number] = trial
                trial.set_user_attr("trial", number)
                return {"values": values}
            self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        return {"values": None}

    def report(self, number, step, value):
        trial = self.find(number)
        frozen = self.study.get_trials(deepcopy=False)[trial.number]
        if step not in frozen.intermediate_values:  # a resumed run comes by again
            trial.report(value, step)
        return {"prune": bool(trial.should_prune())}  # numpy's, perhaps

    def tell(self, number, value, pruned):
        states = self.optuna.trial.TrialState
        trial = self.find(number)
        if trial is None:
            return {}
        frozen = self.study.get_trials(deepcopy=False)[trial.number]
        if not frozen.state.is_finished():
            state = states.PRUNED if pruned else states.FAIL if value is None else states.COMPLETE
            self.study.tell(trial.number, None if state != states.COMPLETE else value, state=state)
        return {}


def answer(study, line):
    request = json.loads(line)
    operation, number = request["op"], request["trial"]
    if operation == "ask":
        return study.ask(number)
    if operation == "report":
        return study.report(number, request["step"], request["value"])
    return study.tell(number, request["value"], request["pruned"])


def main(arguments):
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the sweep, which ends this after its runs
    out = sys.stdout
    sys.stdout = sys.stderr  # what libraries print is no answer
    try:
        import optuna
    except ImportError:
        print(json.dumps({"error": MISSING}), file=out, flush=True)
        return 1
    study = Study(optuna, arguments[0], json.loads(arguments[1]), int(arguments[2]))
    print(json.dumps({"optuna": optuna.__version__}), file=out, flush=True)
    for line in sys.stdin:
        try:
            said = answer(study, line)
        except Exception as error:  # whatever Optuna raises is told, in its words
            print(json.dumps({"error": f"optuna: {type(error).__name__}: {error}"}), file=out, flush=True)
            return 1
        print(json.dumps(said), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
