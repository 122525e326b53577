#!/usr/bin/env python3
"""Writes the worker as a C file with env_gym_worker_text, as numbers: a C string has a length limit.

usage: env_gym_text.py OUT.c WORKER.py
"""

import pathlib
import sys

TEXT = """#include "envs/gym/env_gym_process.h"

const char env_gym_worker_text[] = {{{},0}};
"""
pathlib.Path(sys.argv[1]).write_text(TEXT.format(",".join(map(str, pathlib.Path(sys.argv[2]).read_bytes()))))
