"""The tuner's steps on a terminal, and silence elsewhere."""

import io
import logging

from rich.console import Console
from rich.progress import Progress

from dlrmc.cli.tuning_progress import drawn_steps, shown_tuning
from dlrmc.runtime.tuner import TuningStep

LOGGER = logging.getLogger("dlrmc.tuning")


def log_steps():
    LOGGER.debug("a step", extra={"tuning_step": TuningStep(1, 2, 3, 6, 12.34, 5.0)})
    LOGGER.info("a candidate is dropped")
    LOGGER.warning("kernel %s is not tuned", "%k")


def test_a_terminal_shows_the_kernel_the_best_time_and_the_time_left():
    text = io.StringIO()
    with shown_tuning(Console(file=text, force_terminal=True, width=120)):
        log_steps()
    assert "tuning kernel 1 of 2: best so far 12.3 us, about 5 s left" in text.getvalue()
    assert "kernel %k is not tuned" in text.getvalue()
    assert "dropped" not in text.getvalue()


def test_logging_is_afterwards_as_before():
    state = (LOGGER.level, LOGGER.propagate, list(LOGGER.handlers))
    with shown_tuning(Console(file=io.StringIO(), force_terminal=True)):
        assert LOGGER.handlers != state[2]
    assert (LOGGER.level, LOGGER.propagate, list(LOGGER.handlers)) == state


def test_nothing_is_drawn_where_there_is_no_terminal():
    text = io.StringIO()
    state = list(LOGGER.handlers)
    with shown_tuning(Console(file=text)):
        assert list(LOGGER.handlers) == state
        log_steps()
    assert text.getvalue() == ""


def test_steps_go_into_a_display_that_is_open_already():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    with Progress(console=console) as bar, drawn_steps(bar):
        log_steps()
        assert next(task.description for task in bar.tasks).startswith("tuning kernel 1 of 2")
