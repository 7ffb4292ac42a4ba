"""JSON of the command as dataclasses.

The fields of a class are the keys of an object. A key that is missing, or that has another type, is an error that
names it; a field that can be None needs no key. Keys that a class does not have are ignored, because new ones may be
added at any time.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
from collections.abc import Mapping
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ._errors import FormatError
from ._schema import KEYS

_T = TypeVar("_T")


def documents(text: str, command: str, newest: int) -> list[dict[str, Any]]:
    """The objects of `text`, one per line.

    :raises FormatError: if a line is not an object, or of a version newer than `newest`.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"line {number} of the JSON of `tripipe {command}`"
        try:
            document = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{where} is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise FormatError(f"{where} is {_name(document)} instead of an object")
        if document.get("command") != command:
            raise FormatError(f"{where}: command is {document.get('command')!r} instead of {command!r}")
        version = document.get("version")
        if not isinstance(version, int) or version > newest:
            raise FormatError(
                f"{where} has version {version}, and this package reads versions up to {newest}; install a newer "
                "package, or the command of this one"
            )
        found.append(document)
    if not found:
        raise FormatError(f"`tripipe {command}` wrote no JSON")
    return found


def decode(kind: type[_T], value: object, where: str) -> _T:
    """An object of class `kind`; `where` names `value` in errors."""
    return cast(_T, _decode(kind, value, where))


def _decode(kind: Any, value: object, where: str) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union(arguments, value, where)
    if origin is tuple:
        return _tuple(arguments, value, where)
    if origin is Mapping or origin is dict:
        items = _expect(dict, value, where)
        return {str(key): _decode(arguments[1], each, f"{where}.{key}") for key, each in items.items()}
    if dataclasses.is_dataclass(kind):
        return _object(cast(type, kind), value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, bool):
        raise _wrong(kind, value, where)
    return _expect(kind, value, where)


def _union(kinds: tuple[Any, ...], value: object, where: str) -> object:
    if value is None and type(None) in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind is not type(None))
    for kind in kinds[:-1]:
        if isinstance(value, (int, float) if kind is float else kind):
            return _decode(kind, value, where)
    return _decode(kinds[-1], value, where)


def _tuple(kinds: tuple[Any, ...], value: object, where: str) -> tuple[object, ...]:
    items = _expect(list, value, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise FormatError(f"{where} has {len(items)} elements instead of {len(kinds)}")
    return tuple(
        _decode(kind, item, f"{where}[{index}]")
        for index, (kind, item) in enumerate(zip(kinds, items, strict=True))
    )


@functools.cache
def _hints(kind: type) -> list[tuple[str, str, Any, bool]]:
    """Name, key, type and whether an object may lack it, of each field."""
    hints, keys = get_type_hints(kind), KEYS.get(kind.__name__, {})
    fields = []
    for each in dataclasses.fields(kind):
        optional = each.default is not dataclasses.MISSING or type(None) in get_args(hints[each.name])
        fields.append((each.name, keys.get(each.name, each.name), hints[each.name], optional))
    return fields


def _object(kind: type, value: object, where: str) -> object:
    items = _expect(dict, value, where)
    fields = {}
    for name, key, hint, optional in _hints(kind):
        if key in items:
            fields[name] = _decode(hint, items[key], f"{where}.{key}")
        elif not optional:
            raise FormatError(f"{where} has no key `{key}`; the command and this package are of different versions")
        elif type(None) in get_args(hint):
            fields[name] = None
    return kind(**fields)


def _expect(kind: type[_T], value: object, where: str) -> _T:
    if not isinstance(value, kind):
        raise _wrong(kind, value, where)
    return value


def _wrong(kind: type, value: object, where: str) -> FormatError:
    return FormatError(f"{where} is {_name(value)} instead of {kind.__name__}")


def _name(value: object) -> str:
    return "null" if value is None else type(value).__name__
