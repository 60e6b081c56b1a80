"""Threads, signals, forks, and the end of the interpreter."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import pairforge
from pairforge import Plan, fmm


def particles(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)), rng.random(n) - 0.5


def potential(seed):
    return fmm(*particles(500, seed), order=4).potential


def script(text):
    """A program of its own: how it ended, and what it said."""
    head = "import threading, time, numpy as np, pairforge\nx = np.random.default_rng(1).random((100000, 3)); q = np.ones(100000)\n"
    return subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, timeout=120)


class Process(unittest.TestCase):
    def test_eight_threads_with_a_plan_each_and_one_for_all(self):
        right = [potential(seed) for seed in range(8)]
        found = [None] * 8
        shared, (x, q) = Plan(particles(500)[0], order=4), particles(500)
        same = [None] * 8

        def work(seed):
            found[seed] = potential(seed)
            same[seed] = shared.run(q).potential

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        for a, b in zip(found, right):
            self.assertTrue((a == b).all())
        self.assertTrue(all((a == right[1]).all() for a in same))

    def test_other_threads_run_meanwhile(self):
        ticks, done = [0], threading.Event()

        def tick():
            while not done.is_set():
                ticks[0] += 1
                time.sleep(0.001)

        ticker = threading.Thread(target=tick)
        ticker.start()
        x, q = particles(20000)
        pairforge.direct(x, q)
        done.set()
        ticker.join()
        self.assertGreater(ticks[0], 3)

    def test_a_fork_computes_after_its_parent_has(self):
        right = potential(3)
        child = os.fork()
        if child == 0:
            os._exit(0 if (potential(3) == right).all() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for found in pool.map(potential, [3, 3]):
                self.assertTrue((found == right).all())

    def test_the_number_of_threads_changes_no_bit(self):
        right = potential(4)
        try:
            for threads in (1, 3):
                pairforge.set_num_threads(threads)
                self.assertEqual(pairforge.get_num_threads(), threads)
                self.assertTrue((potential(4) == right).all())
        finally:
            pairforge.set_num_threads(0)

    def test_an_interrupt_ends_a_run_and_leaves_the_plan_usable(self):
        x, q = particles(60000)
        # A program that was started in the background of a shell ignores interrupts.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for work in (lambda: Plan(x, order=10).run(q), lambda: pairforge.direct(x, q)):
            timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            began = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                while time.monotonic() - began < 60:
                    work()
            self.assertLess(time.monotonic() - began, 60)
            timer.join()
        self.assertEqual(fmm(x[:100], q[:100]).potential.shape, (100,))

    def test_the_interpreter_may_end_while_it_computes(self):
        ended = script(
            "t = threading.Thread(target=lambda: pairforge.direct(x, q), daemon=True); t.start(); time.sleep(0.3); print('end')"
        )
        self.assertEqual((ended.returncode, ended.stdout), (0, "end\n"), ended.stderr)

    def test_the_command_is_in_the_package(self):
        command = [sys.executable, "-m", "pairforge"]
        listed = subprocess.run([*command, "list", "backends"], capture_output=True, text=True)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("emulator", listed.stdout)
        version = subprocess.run([*command, "--version"], capture_output=True, text=True)
        self.assertEqual(version.stdout.split(), ["pairforge", pairforge.__version__])
        wrong = subprocess.run([*command, "fmm", "--theta", "0.7"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        missing = subprocess.run([*command, "check", "no.pg2"], capture_output=True, text=True)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("no.pg2", missing.stderr)


if __name__ == "__main__":
    unittest.main()
