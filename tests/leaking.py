"""A page that tries every way to another address, and listeners that see what arrives there."""

import contextlib
import socket
import threading
from pathlib import Path

# Another address of this machine: neither the page's server nor the proxy is there.
ELSEWHERE = "127.0.0.2"

TITLE = "tried 27"


def page(tcp, udp):
    """The page, with the listeners' ports in its addresses."""
    return filled(Path(__file__).with_suffix(".html").read_text("utf-8"), tcp, udp)


def filled(text, tcp, udp):
    """A part of the page with the listeners' ports."""
    values = [
        ("HTTP", f"http://{ELSEWHERE}:{tcp}"), ("WSS", f"wss://{ELSEWHERE}:{tcp}"),
        ("WS", f"ws://{ELSEWHERE}:{tcp}"), ("HOST", ELSEWHERE), ("PORT", str(tcp)),
        ("UDP", str(udp)),
    ]  # fmt: skip
    for name, value in values:
        text = text.replace(name, value)
    return text


@contextlib.contextmanager
def listeners():
    """The ports of a TCP and a UDP listener elsewhere, and a list of what arrived there."""
    arrived = []
    with (
        socket.create_server((ELSEWHERE, 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind((ELSEWHERE, 0))
        tcp.settimeout(0.05)
        udp.settimeout(0.05)
        ended = threading.Event()

        def listen(receive):
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    arrived.append(receive())

        def accepted():
            connection, _ = tcp.accept()
            with connection:
                connection.settimeout(1)
                with contextlib.suppress(TimeoutError):
                    return "tcp", connection.recv(200)
                return "tcp", b""

        threads = [
            threading.Thread(target=listen, args=(way,))
            for way in (accepted, lambda: ("udp", udp.recv(200)))
        ]
        for thread in threads:
            thread.start()
        try:
            yield tcp.getsockname()[1], udp.getsockname()[1], arrived
        finally:
            ended.set()
            for thread in threads:
                thread.join()
