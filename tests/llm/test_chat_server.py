"""Endpoints on loopback, good and bad: one request each, and never longer or more than is allowed."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from recollect.llm import model_calls
from recollect.model.ask import Answer

CHAT = {
    "choices": [{"message": {"role": "assistant", "content": "yes"}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
}
MESSAGE = {
    "content": [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "ye"},
        {"type": "text", "text": "s"},
    ],
    "usage": {"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 100},
}


class Service:
    url = ""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []


Serve = Callable[[BaseHTTPRequestHandler], None]


def whole(body: object, status: int = 200) -> Serve:
    def answer(to: BaseHTTPRequestHandler) -> None:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        to.send_response(status)
        to.send_header("Content-Length", str(len(sent)))
        to.send_header("Location", "http://127.0.0.1:1/elsewhere")
        to.end_headers()
        to.wfile.write(sent)

    return answer


@contextmanager
def service(answer: Serve) -> Iterator[Service]:
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.asked.append(
                (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            try:
                answer(self)
            except OSError:
                pass  # the other side hung up, as it should

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def chat(url: str, *, key: str = "", text: str = "is it?", seconds: float = 20.0) -> Answer:
    return model_calls.ask_server(
        model_calls.CHAT, url, key=key, model="tiny", text=text, seconds=seconds
    )


def test_an_endpoint_answers_and_says_what_it_took():
    with service(whole(CHAT)) as found:
        assert chat(found.url + "/v1/", key="k1", text="grüße") == Answer("yes", 9)

    [(path, headers, body)] = found.asked
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer k1"
    assert (body["model"], body["messages"], body["stream"]) == (
        "tiny",
        [{"role": "user", "content": "grüße"}],
        False,
    )


def test_the_service_itself_answers_and_only_its_text_counts():
    with service(whole(MESSAGE)) as found:
        answer = model_calls.ask_server(
            model_calls.MESSAGES, found.url, key="k2", model="small", text="is it?", seconds=20
        )

    assert answer == Answer("yes", 109)
    [(path, headers, body)] = found.asked
    assert (path, headers["x-api-key"], headers["anthropic-version"]) == (
        "/v1/messages",
        "k2",
        "2023-06-01",
    )
    assert (body["model"], body["max_tokens"]) == ("small", model_calls.MAX_TOKENS)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (whole({"error": "no such model"}, 404), "status 404"),
        (whole({}, 302), "status 302"),
        (whole({}, 500), "status 500"),
        (whole(b"<html>"), "an answer that cannot be read"),
        (whole(b"[" * 200_000), "an answer that cannot be read"),
        (whole(b"\xff\xfe\x00"), "an answer that cannot be read"),
        (whole([1, 2]), "an answer of another shape"),
        (whole({"choices": []}), "an answer of another shape"),
        (whole({"choices": [{"message": {"content": None}}]}), "an answer of another shape"),
        (whole(b" " * 1_100_000), "more than 1,000,000 bytes of answer"),
    ],
)
def test_what_is_no_answer_is_a_problem(answer: Serve, problem: str):
    with service(answer) as found:
        assert chat(found.url).problem == problem

    assert len(found.asked) == 1, "nothing is asked again, and no redirect followed"


@pytest.mark.parametrize("begins", [True, False])
def test_what_drips_or_never_comes_is_cut_at_its_time(begins: bool):
    """Each byte comes within a socket's time-out; all of them together must not."""
    over = threading.Event()

    def drip(to: BaseHTTPRequestHandler) -> None:
        if begins:
            to.send_response(200)
            to.send_header("Content-Length", "100000")
            to.end_headers()
        while not over.wait(0.05):
            if begins:
                to.wfile.write(b" ")

    with service(drip) as found:
        answer = chat(found.url, seconds=0.5)
        over.set()
    assert answer.problem == "no answer in time"


def test_a_line_that_breaks_a_key_that_is_none_or_where_nobody_listens_is_a_problem():
    with service(lambda to: to.connection.shutdown(socket.SHUT_RDWR)) as found:
        assert chat(found.url, key="a\r\nX-Evil: 1").problem == "cannot be asked (ValueError)"
        assert found.asked == []
        assert chat(found.url).problem == "cannot be asked (RemoteDisconnected)"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert chat(url).problem == "cannot be asked (ConnectionRefusedError)"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "file:///etc/passwd",
        "ftp://127.0.0.1",
        "http://",
        "http://[",
        "http://127.0.0.1:x",
    ],
)
def test_what_is_no_address_is_a_problem(url: str):
    assert chat(url).problem == "the URL must start with http:// or https://"
