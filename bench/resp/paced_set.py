#!/usr/bin/env python3
"""SETs of random rows at a steady rate, one at a time, until it is stopped.

    paced_set.py PORT RATE ROWS BYTES

What pgbench --rate does for PostgreSQL, for a Redis server: a SET that is late is made up for.
"""

import random
import socket
import sys
import time


def main(port, rate, rows, size):
    server = socket.create_connection(("127.0.0.1", int(port)))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    value = b"x" * int(size)
    due = time.monotonic()
    while True:
        key = b"mixed:%012d" % random.randrange(int(rows))
        server.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value))
        if server.recv(64) != b"+OK\r\n":
            sys.exit("paced_set.py: SET was not answered with OK")
        due += 1 / float(rate)
        time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
