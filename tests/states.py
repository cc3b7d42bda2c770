"""Waiting for states: a busy machine takes its time, so that no test states how long."""

import time

import psutil

LONG = 120.0  # More than any state takes to come on a machine with three times too much to do.


def until(state, *, pause=time.sleep):
    """What `state` gives once it is not false; fails if it never comes."""
    end = time.monotonic() + LONG
    while not (value := state()):
        assert time.monotonic() < end, f"the state never came: {value!r}"
        pause(0.02)
    return value


def until_seen(page, state):
    """The same for a state of an open page, whose events arrive while it waits."""
    return until(state, pause=lambda seconds: page.wait_for_timeout(1000 * seconds))


def ended(processes):
    """Whether none of the processes runs; one that nobody has waited for yet has ended, too."""
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


def draw_all(page):
    """Bring every object of the page into view until it is drawn, and to rest."""
    # Not wait_for_function: it polls with eval, which a report's policy refuses.
    waiting = """() => {
        const left = [...document.querySelectorAll('.fl-object')].filter(b => !b.dataset.state);
        left[0]?.scrollIntoView();
        return left.length;
    }"""
    until_seen(page, lambda: page.evaluate(waiting) == 0)
