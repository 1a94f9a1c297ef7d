import numpy as np
import pytest

from dlrmc.codegen.source import FaultSite
from dlrmc.errors import BoundsError
from dlrmc.runtime.faults import FAULTS_DTYPE, Fault, FaultLog

SITES = (FaultSite("k", "ids_0", "id"), FaultSite("k", "starts", "offset"), FaultSite("k", "pick", "index"))
PATHS = {"ids_0": "batch['ids'][0]", "starts": "offsets"}


def fault(site=0, call=3, count=1):
    return Fault(site=site, position=5, value=-2, limit=10, call=call, count=count)


def raised(log):
    with pytest.raises(BoundsError) as caught:
        log.raise_pending()
    return str(caught.value)


def test_a_record_becomes_a_fault():
    record = np.zeros(1, FAULTS_DTYPE)
    record[0] = (7, 2, 5, -2, 10)
    assert Fault.of(record[0], call=4) == Fault(site=2, position=5, value=-2, limit=10, call=4, count=7)


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (0, ["batch['ids'][0] in call 3", "id -2 at position 5", "0 <= id < 10, the rows of the table"]),
        (1, ["offsets in call 3", "offset -2 at position 5", "at or before 10, the number of ids"]),
        (2, ["%pick in call 3", "index -2 at position 5", "the size of the dimension"]),
    ],
)
def test_the_error_names_input_call_position_value_and_limit(site, words):
    log = FaultLog("deferred", SITES, PATHS)
    log.record(fault(site))
    message = raised(log)
    for word in words:
        assert word in message


def test_the_first_fault_is_raised_once_and_all_are_counted():
    log = FaultLog("deferred", SITES, PATHS)
    log.record(fault(call=1))
    log.record(fault(call=2, count=4))
    assert log.total == 5
    assert "call 1" in raised(log)
    log.raise_pending()


def test_many_failed_checks_are_said_so():
    log = FaultLog("deferred", SITES, PATHS)
    log.record(fault(count=64))
    assert "the first of 64 checks that failed" in raised(log)


def test_ignored_faults_are_counted_only():
    log = FaultLog("ignore", SITES, PATHS)
    log.record(fault())
    log.raise_pending()
    assert log.total == 1


@pytest.mark.parametrize(("bounds", "in_call"), [("deferred", False), ("raise", True), ("ignore", False)])
def test_only_raise_is_raised_in_the_call(bounds, in_call):
    assert FaultLog(bounds, SITES, PATHS).in_call is in_call
