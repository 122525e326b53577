#!/usr/bin/env python3
"""How long octet dash takes with ten long runs: until the page answers, until all rows are read, and until the
curves are drawn in Chromium, where that is installed.

usage: bench_dash.py OCTET [--runs 10] [--rows 100000]"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cli"))
import dash_runs  # noqa: E402


def get(port, path):
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        body = answer.read()
    return body, time.monotonic() - began


def draw(port, home):
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        print("Chromium is not driven: python3-selenium is not there")
        return
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900", f"--user-data-dir={home}/profile"]:
        options.add_argument(flag)
    page = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    began = time.monotonic()
    page.get(f"http://127.0.0.1:{port}/")
    while int(page.execute_script("return document.getElementById('state').dataset.updates")) == 0:
        time.sleep(0.005)
    print(f"all charts of the page are drawn after {time.monotonic() - began:.2f} s")
    page.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("octet")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as home:
        for seed in range(options.runs):
            dash_runs.make_run(f"{home}/runs/long-{seed}", seed, options.rows)
        size = sum(path.stat().st_size for path in pathlib.Path(home).glob("runs/*/metrics.csv"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        began = time.monotonic()
        child = subprocess.Popen([options.octet, "dash", f"{home}/runs", "--port", str(port)], stdout=subprocess.PIPE)
        child.stdout.readline()
        print(f"{options.runs} runs of {options.rows} rows, {size / 1e6:.0f} MB: serves after {time.monotonic() - began:.3f} s")
        longest, is_reading = 0.0, True
        while is_reading:
            body, took = get(port, "/runs")
            longest = max(longest, took)
            runs = json.loads(body)
            is_reading = runs["reading"] or any(run["rows"] < options.rows for run in runs["runs"])
        print(f"all rows are read after {time.monotonic() - began:.2f} s; meanwhile the slowest answer took {1e3 * longest:.0f} ms")
        body, took = get(port, "/runs")
        print(f"/runs: {len(body)} bytes in {1e3 * took:.1f} ms")
        body, took = get(port, "/curve/0/env_steps/loss")
        print(f"a curve: {len(body)} bytes in {1e3 * took:.1f} ms")
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
        print("memory of octet dash:", next(line.split(":")[1].strip() for line in status.splitlines() if line.startswith("VmRSS")))
        draw(port, home)
        child.terminate()
        child.wait()


if __name__ == "__main__":
    main()
