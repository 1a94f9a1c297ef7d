import numpy as np
import pytest

from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.codegen.source import FaultSite
from dlrmc.runtime.faults import Fault, FaultLog, first_fault

SITES = (FaultSite("k", "ids_0", "id"), FaultSite("k", "starts", "offset"), FaultSite("k", "pick", "index"))
PATHS = {"ids_0": "batch['ids'][0]", "starts": "offsets"}


def fault(site=0, call=3, count=1):
    return Fault(site=site, position=5, value=-2, limit=10, call=call, count=count)


def record(count=0, blocks_before=0, **fields):
    made = np.zeros(1, FAULTS_DTYPE)
    for name, value in {"count": count, "blocks_before": blocks_before, **fields}.items():
        made[name] = value
    return made


def test_no_count_is_no_fault():
    records = np.concatenate([record(blocks_before=9), record()])
    assert first_fault(records, (2, 3)) is None
    assert first_fault(np.zeros(0, FAULTS_DTYPE), ()) is None


@pytest.mark.parametrize(("blocks_before", "call"), [(0, 1), (4, 1), (5, 2), (9, 2), (10, 3)])
def test_the_blocks_that_ended_before_say_which_call_it_was(blocks_before, call):
    records = record(7, blocks_before, site=2, position=5, value=-2, limit=10)
    assert first_fault(records, (5,)) == Fault(site=2, position=5, value=-2, limit=10, call=call, count=7)


def test_the_earliest_call_comes_first_and_then_the_earliest_kernel():
    records = np.concatenate([record(1, 40, site=0), record(2, 5, site=1), record(4, 13, site=2)])
    found = first_fault(records, (10, 2, 5))  # calls 5, 3 and 3
    assert (found.site, found.call, found.count) == (1, 3, 7)


def test_the_record_has_the_layout_of_the_device_code():
    offsets = [FAULTS_DTYPE.fields[name][1] for name in FAULTS_DTYPE.names]
    assert offsets == [0, 8, 16, 20, 24, 32, 40, 48]
    assert FAULTS_DTYPE.itemsize == 56


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (0, ["batch['ids'][0] in call 3", "id -2 at position 5", "0 <= id < 10, the rows of the table"]),
        (1, ["offsets in call 3", "offset -2 at position 5", "at or before 10, the number of ids"]),
        (2, ["%pick in call 3", "index -2 at position 5", "the size of the dimension"]),
    ],
)
def test_the_error_names_input_call_position_value_and_limit(site, words):
    error = FaultLog("deferred", SITES, PATHS).error(fault(site))
    for word in words:
        assert word in str(error)
    assert (error.position, error.value, error.limit, error.call) == (5, -2, 10, 3)
    assert words[0].startswith(error.input)


def test_all_failed_checks_are_counted():
    log = FaultLog("ignore", SITES, PATHS)
    log.count(fault(count=1))
    log.count(fault(call=2, count=4))
    assert log.total == 5


def test_many_failed_checks_are_said_so():
    error = FaultLog("deferred", SITES, PATHS).error(fault(count=64))
    assert "the first of 64 checks that failed" in str(error)


@pytest.mark.parametrize(
    ("bounds", "in_call", "is_told"),
    [("deferred", False, True), ("raise", True, True), ("ignore", False, False)],
)
def test_what_each_policy_does(bounds, in_call, is_told):
    log = FaultLog(bounds, SITES, PATHS)
    assert (log.in_call, log.is_told) == (in_call, is_told)
