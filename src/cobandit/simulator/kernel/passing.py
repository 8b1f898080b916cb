"""How compiled functions are given all tables: as one address, where the addresses and shapes of the tables stand.

Numba by itself hands a named tuple over as its members, and an array as seven to eleven values: 250 arguments to each
call, which LLVM must carry through every pass. Here `t` is one pointer, and what a function uses of it is loaded where
it is used. Nothing there changes during a run, and LLVM is told so: it loads a thing once.

No place in a table is counted from its end, so compiled code does not ask whether one is negative.

This file knows how Numba types, unboxes and lowers. It does not know what the tables mean.
"""
# ruff: noqa: ANN401  # what a compiler extension is given has no types of its own

import operator
from functools import lru_cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox
from numba.np.arrayobj import getitem_array_tuple, getitem_arraynd_intp, make_array, populate_array, setitem_array
from numba.np.numpy_support import from_dtype

from cobandit.simulator.kernel.tables import Tables

_WORDS = types.Array(types.uint64, 1, "C")
_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


class TableType(types.Array):
    """The type of one table in compiled code."""


register_model(TableType)(models.ArrayModel)


@lower_builtin(operator.getitem, TableType, types.Integer)  # type: ignore[untyped-decorator]
@lower_builtin(operator.getitem, TableType, types.BaseTuple)  # type: ignore[untyped-decorator]
def _getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, place = signature.args
    general = signature.replace(args=(table, _from_the_beginning(place)))
    get = getitem_arraynd_intp if isinstance(place, types.Integer) else getitem_array_tuple
    return get(context, builder, general, arguments)


@lower_builtin(operator.setitem, TableType, types.Integer, types.Any)  # type: ignore[untyped-decorator]
@lower_builtin(operator.setitem, TableType, types.BaseTuple, types.Any)  # type: ignore[untyped-decorator]
def _setitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, place, value = signature.args
    general = signature.replace(args=(table, _from_the_beginning(place), value))
    return setitem_array(context, builder, general, arguments)


def _from_the_beginning(place: Any) -> Any:
    """Return the type of a place that is not negative: the same bits without a sign."""
    if isinstance(place, types.BaseTuple):
        return types.Tuple([_from_the_beginning(one) for one in place.types])
    return types.Integer.from_bitwidth(place.bitwidth, signed=False) if isinstance(place, types.Integer) else place


class TablesType(types.Type):
    """The type of `Tables` in compiled code: what its tables are, and where in `Tables.words` they stand."""

    def __init__(self, shapes: tuple[tuple[str, Any, int], ...]) -> None:
        self.shapes = shapes
        self.members: dict[str, tuple[int, Any]] = {}
        place = 0
        for name, dtype, dimensions in shapes:
            element = from_dtype(dtype)
            self.members[name] = place, TableType(element, dimensions, "C") if dimensions else element
            place += 1 + dimensions
        super().__init__(name="Tables")

    @property
    def key(self) -> Any:
        """What makes two of these types the same one."""
        return self.shapes


_type_of = lru_cache(TablesType)


@typeof_impl.register(Tables)
def _typeof_tables(tables: Tables, _: Any) -> TablesType:
    members = zip(Tables._fields, tables, strict=True)
    return _type_of(tuple((name, table.dtype, table.ndim) for name, table in members))


register_model(TablesType)(models.OpaqueModel)


@unbox(TablesType)  # type: ignore[untyped-decorator]
def _unbox_tables(_: TablesType, tables: Any, c: Any) -> NativeValue:
    words = c.pyapi.object_getattr_string(tables, "words")
    native = c.unbox(_WORDS, words)
    address = c.builder.bitcast(make_array(_WORDS)(c.context, c.builder, value=native.value).data, _BYTES)

    def clean_up() -> None:
        if native.cleanup is not None:
            native.cleanup()
        c.pyapi.decref(words)

    return NativeValue(address, is_error=native.is_error, cleanup=clean_up)


@infer_getattr
class _Members(AttributeTemplate):
    key = TablesType

    def generic_resolve(self, tables: TablesType, name: str) -> Any:  # type: ignore[override]
        return tables.members[name][1] if name in tables.members else None


@lower_getattr_generic(TablesType)  # type: ignore[untyped-decorator]
def _load_member(context: Any, builder: Any, tables: TablesType, address: Any, name: str) -> Any:
    place, member = tables.members[name]

    def load(offset: int, kind: Any) -> Any:
        word = builder.gep(builder.bitcast(address, kind.as_pointer()), [_WORD(place + offset)])
        loaded = builder.load(word)
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if not isinstance(member, types.Array):
        return load(0, context.get_value_type(member))
    array = make_array(member)(context, builder)
    shape = [load(1 + dimension, _WORD) for dimension in range(member.ndim)]
    item = context.get_abi_sizeof(context.get_data_type(member.dtype))
    strides = [_WORD(item)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = load(0, context.get_data_type(member.dtype).as_pointer())
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()  # noqa: SLF001
