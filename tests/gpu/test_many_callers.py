"""Eight threads with 1000 calls each, every answer compared (O28)."""

import threading

import pytest
import torch

from tests.runtime.programs import TABLE, compile_lookup, eager_lookup

pytestmark = pytest.mark.gpu

THREADS, CALLS, REQUESTS = 8, 1000, 10


@pytest.mark.parametrize("has_replicas", [False, True])
def test_eight_threads_of_a_thousand_calls(has_replicas, tmp_path_factory):
    cache_dir = tmp_path_factory.getbasetemp() / "callers"
    compiled = compile_lookup(cache_dir, target="cuda", table=TABLE.cuda())
    table = TABLE.cuda()
    wrong = []

    def serve(number, call):
        try:
            generator = torch.Generator().manual_seed(number)
            with torch.cuda.stream(torch.cuda.Stream()):
                requests = [
                    (
                        torch.randn(4, 3, generator=generator).cuda(),
                        torch.randint(10, (4,), generator=generator).cuda(),
                    )
                    for _ in range(REQUESTS)
                ]
                expected = [eager_lookup(*each, table) for each in requests]
                for turn in range(CALLS):
                    found = call(*requests[turn % REQUESTS])
                    if not all(map(torch.equal, found, expected[turn % REQUESTS])):
                        wrong.append((number, turn))
        except BaseException as error:
            wrong.append((number, error))

    calls = [compiled.replica() if has_replicas else compiled for _ in range(THREADS)]
    threads = [threading.Thread(target=serve, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    total = sum(call.stats()["calls"] for call in set(calls))
    assert total == THREADS * CALLS
