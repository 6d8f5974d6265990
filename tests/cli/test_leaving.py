"""A plain tool that never ends must not keep a stopped bot alive (T66)."""

import subprocess
import sys

import pytest

STUCK = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from bot.cli.serve import _leave_behind
pool = ThreadPoolExecutor(2, thread_name_prefix="tool")
begun = threading.Event()
def work():
    begun.set()
    time.sleep({seconds})
pool.submit(work)
begun.wait()
pool.shutdown(wait=False, cancel_futures=True)
_leave_behind(0)
print("left in order")
"""


@pytest.mark.parametrize(("seconds", "said"), [(60, ""), (0, "left in order\n")])
def test_a_stuck_tool_is_left_behind(seconds, said):
    done = subprocess.run(
        [sys.executable, "-c", STUCK.format(seconds=seconds)],
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == said
