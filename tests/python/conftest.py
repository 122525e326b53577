"""Lets several processes share the cases of a file: run_pytest.py --processes."""

import os


def pytest_collection_modifyitems(items):
    share = os.environ.get("OCTET_TEST_SHARE")  # "I N": every Nth case from the Ith on
    if share:
        first, processes = map(int, share.split())
        items[:] = items[first::processes]
