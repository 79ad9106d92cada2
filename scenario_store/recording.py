"""Reads a scenario's recording: each exchange between its agent and its models, the request's exact body and the answer's exact bytes (secrets aside)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import cattrs

from scenario_store.atomic import host_faults
from scenario_store.wire import DIGEST_BYTES, NAME, WINDOW, Kind, Place, RequestHead, WireDamaged, applied, places, unpack
from stamina.errors import InputError
from stamina.usage import How, Usage

_CONVERTER: Final = cattrs.Converter()


@attrs.frozen
class End:
    """How an exchange ended; see :class:`stamina.usage.How`. ``seconds`` are from the request on, ``first_byte`` is None when no answer began."""

    how: How
    usage: Usage | None
    detail: str = ""
    seconds: float = 0.0
    first_byte: float | None = None


@attrs.frozen
class Answer:
    """What came of a request.

    Attributes:
        status, headers: None and empty when no answer began.
        pieces: the body, as it came: milliseconds after the request, and bytes. Pieces that held a secret are one.
        end: None when the recording was cut short.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[tuple[int, bytes], ...]
    end: End | None


@attrs.frozen
class Exchange:
    """A request, and where its answer is.

    Attributes:
        at: its number in the file.
        base: the request that it is told from, None when it is told by itself.
        told: its parts, see :func:`scenario_store.wire.delta`.
        answers: records of its answer, in order.
    """

    at: int
    head: RequestHead
    base: int | None
    told: Sequence[Any] = attrs.field(repr=False)
    answers: list[Place] = attrs.field(factory=list, repr=False)


class Recording:
    """A recording that was read. Made by :meth:`read`; not to be used by two threads at a time.

    Attributes:
        exchanges: in the order in which they began.
        lost: how many exchanges could not be recorded.
        torn: bytes behind the last whole record.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.exchanges: list[Exchange] = []
        self.lost = 0
        self._data = data
        self._parts: list[Place] = []
        self._resolved: dict[int, list[int]] = {}
        end = 0
        for place in places(path, data):
            end = place.end
            try:
                self._take(place)
            except (ValueError, TypeError, KeyError, IndexError, cattrs.BaseValidationError) as error:
                raise WireDamaged(path, place.at, f"a record holds something else than it should ({type(error).__name__})") from error
        self.torn = len(data) - end if self._parts else 0

    @classmethod
    def read(cls, folder: Path) -> Recording:
        """The recording in a scenario's folder. Raises InputError when there is none, WireDamaged, HostFault."""
        path = folder / NAME
        with host_faults("read", path):
            if not path.is_file():
                raise InputError(f"{path} is not there: nothing was recorded for this scenario")
            return cls(path, path.read_bytes())

    def numbers(self, exchange: Exchange) -> list[int]:
        """The numbers of the parts of its body. Quick in the order of the file. Raises WireDamaged."""
        if exchange.at not in self._resolved:
            chain = [exchange]
            while (base := chain[-1].base) is not None and base not in self._resolved:
                chain.append(self.exchanges[base])
            for link in reversed(chain):
                self._resolve(link)
        return self._resolved[exchange.at]

    def part(self, number: int) -> bytes:
        """A part of a body. Raises WireDamaged."""
        place = self._parts[number]
        return self._unpacked(place, DIGEST_BYTES)

    def digest(self, number: int) -> bytes:
        """Of a part, as it was sent."""
        at = self._parts[number].at
        return self._data[at : at + DIGEST_BYTES]

    def body(self, exchange: Exchange) -> bytes:
        """The body of a request. Raises WireDamaged."""
        return b"".join(map(self.part, self.numbers(exchange)))

    def answer(self, exchange: Exchange) -> Answer:
        """The answer to a request. Raises WireDamaged."""
        facts: dict[str, Any] = {}
        pieces: list[tuple[int, bytes]] = []
        for place in exchange.answers:
            line, _, data = self._unpacked(place).partition(b"\n")
            found = json.loads(line)
            facts |= found
            at = 0
            for milliseconds, size in zip(found["ms"], found["sizes"], strict=True):
                pieces.append((milliseconds, data[at : at + size]))
                at += size
        headers = tuple((name, value) for name, value in facts.get("headers", ()))
        end = facts.get("end")
        return Answer(facts.get("status"), headers, tuple(pieces), None if end is None else _CONVERTER.structure(end, End))

    def _take(self, place: Place) -> None:
        match place.kind:
            case Kind.PART:
                self._parts.append(place)
            case Kind.REQUEST:
                self.exchanges.append(_exchange(len(self.exchanges), json.loads(self._unpacked(place))))
            case Kind.ANSWER:
                line = self._unpacked(place).partition(b"\n")[0]
                self.exchanges[json.loads(line)["request"]].answers.append(place)
            case Kind.LOST:
                self.lost += json.loads(self._unpacked(place))["count"]

    def _resolve(self, exchange: Exchange) -> None:
        try:
            now = applied((), exchange.told) if exchange.base is None else applied(self._resolved[exchange.base], exchange.told)
        except (ValueError, TypeError) as error:
            raise WireDamaged(self.path, 0, f"request {exchange.at} cannot be put together ({error})") from error
        self._resolved[exchange.at] = now
        for old in [at for at in self._resolved if at < exchange.at - 4 * WINDOW]:
            del self._resolved[old]

    def _unpacked(self, place: Place, skip: int = 0) -> bytes:
        try:
            return unpack(self._data[place.at + skip : place.end])
        except ValueError as error:
            raise WireDamaged(self.path, place.at, f"a record cannot be decompressed ({error})") from error


def _exchange(at: int, content: Mapping[str, Any]) -> Exchange:
    fields = {field.name: content[field.name] for field in attrs.fields(RequestHead)}
    head = _CONVERTER.structure(fields, RequestHead)
    base = content["base"]
    if base is not None and not 0 <= base < at:
        raise ValueError("it refers to a request that is not there")
    return Exchange(at, head, base, content["parts"])
