"""Reading one response from bytes in any pieces."""

from __future__ import annotations

import itertools
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.response_reader import KNOWN, KNOWN_BYTES, KnownHeads, ResponseReader, SizeLimits
from stamina.exchange import Answer, NoResponse, Response, Trouble

LIMITS: Final = SizeLimits(head_bytes=2000, body_bytes=2000)

SAMPLES: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nhel\r\n2\r\nlo\r\n0\r\nX-T: y\r\n\r\n",
    b"HTTP/1.1 201 Created\r\nX-Empty:\r\nTRANSFER-ENCODING: Chunked\r\nContent-Length: 2\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nuntil the end",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 304 Not Modified\r\n\r\n",
    b"HTTP/1.1 200\nContent-Length: 2\n\nhi",
)


def whole(*pieces: bytes, limits: SizeLimits = LIMITS) -> tuple[Answer, ResponseReader]:
    """The answer to these pieces, followed by the end of the connection."""
    reader = ResponseReader(limits)
    for piece in pieces:
        answer = reader.feed(piece)
        if answer is not None:
            return answer, reader
    return reader.end(), reader


def response(data: bytes) -> Response:
    answer, _ = whole(data)
    assert isinstance(answer, Response), answer
    return answer


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({place % len(data) for place in places} | {0, len(data)})
    return [data[begin:end] for begin, end in itertools.pairwise(marks)]


PLACES = st.lists(st.integers(min_value=0), max_size=12)


@given(st.sampled_from(SAMPLES), PLACES)
def test_pieces_do_not_matter(data: bytes, places: list[int]) -> None:
    """A response cut at arbitrary bytes is the same response."""
    answer, _ = whole(*cut(data, places))

    assert answer == response(data)


@pytest.mark.parametrize("data", SAMPLES)
def test_single_bytes_do_not_matter(data: bytes) -> None:
    """Nor does it when every byte comes alone."""
    answer, _ = whole(*(data[i : i + 1] for i in range(len(data))))

    assert answer == response(data)


@given(st.binary(max_size=500), st.sampled_from(["length", "chunked", "end"]), st.integers(1, 50), PLACES)
def test_any_body_comes_through_any_framing(body: bytes, framing: str, size: int, places: list[int]) -> None:
    """What the server put into the body is what the response holds."""
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i : i + size]), body[i : i + size]) for i in range(0, len(body), size)) + b"0\r\n\r\n"
    data = {
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body),
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
        "end": b"HTTP/1.1 200 OK\r\n\r\n" + body,
    }[framing]
    answer, _ = whole(*cut(data, places))

    assert answer == Response(200, body)


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=5))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """Whatever comes is an answer."""
    answer, _ = whole(*pieces)

    assert isinstance(answer, Response | NoResponse)


@given(st.sampled_from(SAMPLES), st.integers(0, 200), st.integers(1, 255), PLACES)
def test_no_damaged_response_raises(data: bytes, place: int, change: int, places: list[int]) -> None:
    """One wrong byte in a right response is an answer too, the same in any pieces."""
    spoiled = bytearray(data)
    spoiled[place % len(data)] ^= change
    pieces = cut(bytes(spoiled), places)
    first, second = whole(bytes(spoiled))[0], whole(*pieces)[0]

    if isinstance(first, NoResponse) and isinstance(second, NoResponse):
        assert first.trouble == second.trouble
    else:
        assert first == second


@pytest.mark.parametrize(
    ("data", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 ", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\r\nHTTP/1.1 200 OK\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\n\r\nhi", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", False),
        (b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", False),
        (b"HTTP/1.1 204 No Content\r\n\r\nhi", False),
    ],
)
def test_a_connection_is_kept_only_when_nothing_is_left_on_it(data: bytes, *, reusable: bool) -> None:
    """Neither bytes that came nor bytes that were announced may be taken for the next answer."""
    answer, reader = whole(data)

    assert isinstance(answer, Response)
    assert reader.reusable == reusable


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (b"", Trouble.CLOSED),
        (b"HTTP/1.1 200 OK\r\nConte", Trouble.CLOSED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", Trouble.CLOSED),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", Trouble.CLOSED),
        (b"HTTP/1.1 100 Continue\r\n\r\n", Trouble.CLOSED),
        (b"POST /reset HTTP/1.1\r\n\r\n", Trouble.GARBAGE),
        (b"HTTP/1.1 2OO OK\r\n\r\n", Trouble.GARBAGE),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Trouble.GARBAGE),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", Trouble.GARBAGE),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 400, Trouble.TOO_LARGE),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, Trouble.TOO_LARGE),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 4001, Trouble.TOO_LARGE),
    ],
)
def test_what_is_no_response_has_its_trouble(data: bytes, trouble: Trouble) -> None:
    """The trouble names what went wrong, and the detail says it in words."""
    answer, reader = whole(data)

    assert isinstance(answer, NoResponse)
    assert answer.trouble is trouble
    assert answer.detail
    assert not reader.reusable


def test_the_beginning_of_garbage_is_shown() -> None:
    """A person sees what came, escaped and cut."""
    answer, _ = whole(b"<html>\x00" + b"x" * 1000)

    assert isinstance(answer, NoResponse)
    assert "b'<html>\\x00" in answer.detail
    assert len(answer.detail) < 250


LINES: Final = (
    b"Content-Length: 0",
    b"Content-Length: 5",
    b"content-length:5 ",
    b"Content-Length: 05",
    b"Content-Length: 7\nX: y",
    b"Content-Length: 5\n",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip",
    b"Connection: close",
    b"Connection: keep-alive",
    b"X-Folded: a\r\n b",
    b"X: y",
)
STATUS_LINES: Final = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 404",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 204 No Content",
    b"HTTP/1.1 304 Not Modified",
    b"HTTP/1.1 100 Continue",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
    b"HTTP/1.1 101 Switching",
    b"HTTP/1.1 2OO OK",
)
HEADS = st.builds(
    lambda first, lines: b"\r\n".join((first, *lines)) + b"\r\n\r\n",
    st.sampled_from(STATUS_LINES),
    st.lists(st.sampled_from(LINES), max_size=3),
)
BODIES = st.sampled_from(
    (b"", b"hello", b"HELLO", b"hello\n\n", b"he\r\n\r\n", b"\r\n\r\n!", b"0\r\n\r\n", b"hell", b"hello!", b"helloHTTP/1.1 200 OK\r\n\r\n")
)


def learned(*samples: bytes) -> KnownHeads:
    """What is known after these responses, each read in one piece."""
    heads = KnownHeads()
    for data in samples:
        reader = ResponseReader(LIMITS)
        if reader.feed(data) is not None:
            heads.learn(data, reader)
    return heads


@given(HEADS, BODIES, BODIES)
def test_a_known_head_says_what_the_parser_would(head: bytes, seen: bytes, body: bytes) -> None:
    """Whatever was learned, what is recalled is what reading gives, and so is whether the connection is good for more."""
    known = learned(head + seen).recall(head + body)

    if known is not None:
        reader = ResponseReader(LIMITS)
        assert (reader.feed(head + body), reader.reusable) == known


@pytest.mark.parametrize(
    ("data", "again", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", False),
    ],
)
def test_plain_heads_are_learned(data: bytes, again: bytes, *, reusable: bool) -> None:
    """The second response with the same head needs no parser."""
    assert learned(data).recall(again) == (response(again), reusable)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        b"HTTP/1.1 200 OK\nConnection: close\nContent-Length: 8\n\n\r\n\r\nabcd\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: " + b"x" * KNOWN_BYTES + b"\r\n\r\nhello",
    ],
)
def test_heads_that_do_not_decide_alone_are_not_learned(data: bytes) -> None:
    """The parser reads each of these again."""
    assert learned(data).recall(data) is None


def test_heads_that_never_come_again_are_forgotten() -> None:
    """A server that makes a new head each time has a bounded share of our memory."""
    samples = [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: %d\r\n\r\n" % number for number in range(KNOWN + 1)]
    heads = learned(*samples)

    assert [heads.recall(data) for data in samples].count(None) == KNOWN
