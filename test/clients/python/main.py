"""redis-py through all steps:  python main.py 2|3

The environment and the output are those of ../node/main.js; the steps are those of ../node/steps.js.
"""
import os
import subprocess
import sys
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

ROWS = 10000
AWKWARD = 'Zo\u00eb said "hi"\n\u65e5\u672c \\ \U0001f600'
PROTOCOL = int(sys.argv[1])
ROLE, PASSWORD = os.environ["ENDPOINT_ROLE"], os.environ["ENDPOINT_PASSWORD"]


def connect(**options):
    return redis.Redis(
        host=os.environ["ENDPOINT_HOST"], port=int(os.environ["ENDPOINT_PORT"]), protocol=PROTOCOL,
        decode_responses=True, socket_timeout=20, **options)


def key(row_id):
    return 'CRUD:shop.public.items:{"id":%s}' % row_id


def text(row_id):
    return '{"id":%d,"name":"item %d","price":%.2f,"note":null}' % (row_id, row_id, row_id / 4)


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r:.300} instead of {want!r:.300}")


def step_connect(client):
    expect(client.ping(), True)
    expect(client.client_info()["resp"], str(PROTOCOL))


def step_hit(client):
    expect(client.get(key(1)), text(1))
    expect(client.get(key(1)), text(1))


def step_miss(client):
    expect(client.get(key(-1)), None)
    expect(client.get("session:not-a-row"), None)


def step_mget(client):
    expect(client.mget([key(2), key(-1), key(1), key(2)]), [text(2), None, text(1), text(2)])


def step_hgetall(client):
    """A column that is null is absent; an empty string is not."""
    expect(client.hgetall(key(10001)), {"id": "10001", "name": AWKWARD, "price": "0.50", "note": ""})
    expect(client.hgetall(key(10002)), {"id": "10002", "name": "without a note", "price": "0.25"})


def step_hgetall_no_row(client):
    expect(client.hgetall(key(-1)), {})


def step_set_get(client):
    row_id = os.environ["ENDPOINT_ROW"]
    row = '{"id":%s,"name":"written","price":1.50,"note":null}' % row_id
    pipe = client.pipeline(transaction=False)
    pipe.set(key(row_id), row).get(key(row_id)).delete(key(row_id)).get(key(row_id))
    expect(pipe.execute(), [True, row, 1, None])


def step_pipeline(client):
    ids = range(1, ROWS + 1)
    pipe = client.pipeline(transaction=False)
    for row_id in ids:
        pipe.get(key(row_id))
    if pipe.execute() != [text(row_id) for row_id in ids]:
        raise AssertionError("some of the rows are wrong")


def step_reconnect(client):
    """The workers are gone for a second; what a client says meanwhile is its own affair."""
    before = client.client_id()
    subprocess.run(os.environ["KILL_WORKERS"], shell=True, check=True, capture_output=True)
    expect(until_answered(client, key(3)), text(3))
    if client.client_id() == before:
        raise AssertionError("the connection was never interrupted")


def until_answered(client, wanted):
    deadline = time.monotonic() + 25
    while True:
        try:
            return client.get(wanted)
        except redis.ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def step_login(_):
    with connect(username=ROLE, password=PASSWORD, db=1, client_name="shop") as client:
        expect(client.get(key(4)), text(4))
        info = client.client_info()
        expect((info["user"], info["name"]), (ROLE, "shop"))


def step_wrong_password(_):
    with connect(username=ROLE, password="wrong", retry=Retry(NoBackoff(), 0)) as client:
        try:
            client.get(key(1))
        except redis.AuthenticationError:
            return
    raise AssertionError("the row was read all the same")


def step_close(client):
    client.close()


STEPS = [
    ("connect", step_connect),
    ("hit", step_hit),
    ("miss", step_miss),
    ("MGET", step_mget),
    ("HGETALL", step_hgetall),
    ("HGETALL of no row", step_hgetall_no_row),
    ("SET, GET", step_set_get),
    ("pipeline", step_pipeline),
    ("reconnect", step_reconnect),
    ("login", step_login),
    ("wrong password", step_wrong_password),
    ("close", step_close),
]


def main():
    print("version", redis.__version__, flush=True)
    client = connect()
    for name, step in STEPS:
        try:
            step(client)
            print("ok", name, flush=True)
        except Exception as error:  # whatever a client raises, it is the step's result
            print(f"not ok {name}: {' '.join((str(error) or repr(error)).split())}", flush=True)


main()
