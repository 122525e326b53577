#!/usr/bin/env python3
"""The table of bench_train_sb3's records: CPU seconds to a goal by Stable-Baselines3 and by octet train, and how many times less Octet takes.

usage: train_sb3_table.py RECORDS

A row for each case, with medians over seeds; ratios are those of the seeds, median, least and most. Needs no Stable-Baselines3.
"""

import argparse
import pathlib
import statistics

from bench_records import lines

HEADER = ("| | Stable-Baselines3: CPU s, steps, return of 100 more episodes, reached | Octet | times by CPU | … with imports |\n"
          "|---|---|---|---|---|")


def row(pairs):
    """Of the records of one case, one for each seed."""
    def cell(who):
        cpu, steps, again = (statistics.median(pair[who][key] for pair in pairs) for key in ("cpu", "steps", "again"))
        return f"{cpu:.2f}, {steps / 1e3:.0f} k, {again:.0f}, {sum(pair[who]['reached'] for pair in pairs)} of {len(pairs)}"

    def times(value):
        ratios = [value(pair["sb3"]) / value(pair["octet"]) for pair in pairs]
        return f"**{statistics.median(ratios):.0f}** [{min(ratios):.0f} to {max(ratios):.0f}]"

    return (f"| {pairs[0]['env']}, {pairs[0]['algorithm']} | {cell('sb3')} | {cell('octet')} | {times(lambda run: run['cpu'])} | "
            f"{times(lambda run: run['cpu'] + run.get('imports_cpu', 0))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    by_case = {}
    for pair in lines(parser.parse_args().records):
        by_case.setdefault(pair["case"], []).append(pair)
    print(HEADER)
    for pairs in by_case.values():
        print(row(pairs))


if __name__ == "__main__":
    main()
