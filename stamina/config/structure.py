"""Plain TOML values into attrs classes through cattrs, with every problem and its place gathered instead of the first one raised.

Nothing is converted: ``"5"`` is not 5, and ``true`` is not 1. Types are plain ones (int, float, str, bool, enums, tuples, mappings, attrs classes) or
``Annotated[type, Kind]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, TypeVar, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, BaseValidationError, ForbiddenExtraKeysError, IterableValidationError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn

from stamina.config.kinds import Choice, Flag, Kind, Number, Text, Unexpected, Whole, shown, suggestion
from stamina.config.lines import KeyPath

T = TypeVar("T")


@attrs.frozen
class Problem:
    """Something wrong at a key; ``text`` is what was expected and what is there."""

    path: KeyPath
    text: str


def structured(value: Any, cls: type[T]) -> tuple[T | None, tuple[Problem, ...]]:
    """``value`` as a ``cls``, or None and the problems that stand against it."""
    try:
        return _CONVERTER.structure(value, cls), ()
    except (BaseValidationError, Unexpected) as error:
        return None, tuple(_problems(error, ()))


def kind_of(annotation: Any) -> Kind | None:
    """What a scalar annotation may hold; None when it is a container, a class or anything else."""
    if get_origin(annotation) is Annotated:
        return next((extra for extra in get_args(annotation)[1:] if isinstance(extra, Kind)), None)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return Choice(annotation)
    return _PLAIN.get(annotation) if isinstance(annotation, type) else None


_PLAIN: Mapping[type, Kind] = {int: Whole(), float: Number(), str: Text(), bool: Flag()}


def written_keys(cls: type) -> list[str]:
    """The keys that a table of this class may have by itself, in order."""
    return [field.name for field in attrs.fields(cls) if not field.metadata.get("rest")]


def _problems(error: BaseException, path: KeyPath) -> Iterator[Problem]:
    """The leaves of cattrs' tree of errors, each with the way to it."""
    here = path + _step(error)
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _problems(inner, here)
    elif isinstance(error, ForbiddenExtraKeysError):
        for name in sorted(error.extra_fields):
            yield Problem((*here, name), f"unknown key; {suggestion(name, written_keys(error.cl), 'keys here')}")
    elif isinstance(error, KeyError):
        yield Problem(here, "missing, and it has no default")
    else:
        yield Problem(here, str(error))


def _step(error: BaseException) -> KeyPath:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return (note.name,)
        if isinstance(note, IterableValidationNote):
            return (note.index,)
    return ()


def _kind_hook(annotation: Any) -> Callable[[Any, Any], Any]:
    kind = kind_of(annotation)
    assert kind is not None
    return lambda value, _: kind.read(value)


def _table_hook(cls: Any) -> Callable[[Any, Any], Any]:
    """A table; the keys that are not its own go to the attribute marked as the rest, when there is one."""
    rest = next((field.name for field in attrs.fields(cls) if field.metadata.get("rest")), None)
    structure = make_dict_structure_fn(cls, _CONVERTER, _cattrs_forbid_extra_keys=True)
    own = set(written_keys(cls))

    def hook(value: Any, annotation: Any) -> Any:
        if not isinstance(value, dict):
            raise Unexpected(f"expected a table, got {shown(value)}")
        if rest is None:
            return structure(value, annotation)
        table = structure({name: inner for name, inner in value.items() if name in own}, annotation)
        return attrs.evolve(table, **{rest: {name: inner for name, inner in value.items() if name not in own}})

    return hook


def _list_hook(annotation: Any) -> Callable[[Any, Any], Any]:
    element = get_args(annotation)[0]

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise Unexpected(f"expected a list, got {shown(value)}")
        return tuple(_each(annotation, [(at, partial(_CONVERTER.structure, item, element)) for at, item in enumerate(value)]))

    return hook


def _mapping_hook(annotation: Any) -> Callable[[Any, Any], Any]:
    names, values = get_args(annotation)

    def entry(name: str, value: Any) -> tuple[Any, Any]:
        return _CONVERTER.structure(name, names), value if values is Any else _CONVERTER.structure(value, values)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise Unexpected(f"expected a table, got {shown(value)}")
        return dict(_each(annotation, [(name, partial(entry, name, inner)) for name, inner in value.items()]))

    return hook


def _each(annotation: Any, parts: Iterable[tuple[str | int, Callable[[], Any]]]) -> list[Any]:
    """The results of all parts; the errors of all parts, each with its index, when there is one."""
    results, errors = [], []
    for index, part in parts:
        try:
            results.append(part())
        except (BaseValidationError, Unexpected) as error:
            error.add_note(IterableValidationNote(f"@ {index}", index, annotation))
            errors.append(error)
    if errors:
        raise IterableValidationError("inside", errors, annotation)
    return results


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,)


def _is_mapping(annotation: Any) -> bool:
    return isinstance(get_origin(annotation), type) and issubclass(get_origin(annotation), Mapping)


_CONVERTER = cattrs.Converter(detailed_validation=True, forbid_extra_keys=True)
_CONVERTER.register_structure_hook_factory(attrs.has, _table_hook)
_CONVERTER.register_structure_hook_factory(_is_list, _list_hook)
_CONVERTER.register_structure_hook_factory(_is_mapping, _mapping_hook)
_CONVERTER.register_structure_hook_factory(lambda annotation: kind_of(annotation) is not None, _kind_hook)
for _plain in _PLAIN:  # cattrs converts these by itself unless each is named
    _CONVERTER.register_structure_hook(_plain, _kind_hook(_plain))
