//! Names of values for messages.

use tripipe_ir::flow::Atom;
use tripipe_ir::op::Number;
use tripipe_ir::{Kernel, Op, Value};

/// The name of an argument, or else of the value; without a name, a description.
pub(crate) fn value_name(kernel: &Kernel, value: Value) -> String {
    source_name(kernel, value).unwrap_or_else(|| in_words(kernel, value))
}

/// The name of a value in the source.
pub(crate) fn source_name(kernel: &Kernel, value: Value) -> Option<String> {
    argument_name(kernel, value).or_else(|| kernel.names[value].as_ref().map(ToString::to_string))
}

/// A description of a value without a name, as in "a value from `in`".
pub(crate) fn in_words(kernel: &Kernel, value: Value) -> String {
    let value = before_widening(kernel, value);
    let kind = if kernel.ty(value).is_pointer() { "an address" } else { "a value" };
    let Some(data) = kernel.defining(value).map(|inst| &kernel.insts[inst]) else {
        return format!("{kind} of a loop or branch");
    };
    match data.op {
        Op::Load(_) | Op::Atomic(_) => match origin(kernel, data.operands[0]) {
            Some(name) => format!("{kind} from `{name}`"),
            None => format!("{kind} from memory"),
        },
        Op::Query(query) => Atom::Query(query.kind, query.dimension).to_string(),
        _ => format!("{kind} computed before"),
    }
}

/// The name of the memory that an address points into.
fn origin(kernel: &Kernel, pointer: Value) -> Option<String> {
    let base = kernel.pointer_base(pointer);
    match kernel.defining(base).map(|inst| kernel.insts[inst].op) {
        Some(Op::ObjectAddress(object)) => {
            Some(kernel.objects[object].name.clone()).filter(|name| !name.is_empty())
        }
        _ => source_name(kernel, base),
    }
}

/// The value before widening, or itself.
pub(crate) fn before_widening(kernel: &Kernel, mut value: Value) -> Value {
    while let Some(inst) = kernel.defining(value)
        && let Op::Convert(convert) = kernel.insts[inst].op
        && convert.from != Number::Float
        && convert.to != Number::Float
    {
        value = kernel.insts[inst].operands[0];
    }
    value
}

/// The name of the argument that a value is, or `None`.
pub(crate) fn argument_name(kernel: &Kernel, value: Value) -> Option<String> {
    let value = before_widening(kernel, value);
    let position =
        kernel.blocks[Kernel::ENTRY].parameters.iter().position(|parameter| *parameter == value)?;
    kernel.parameters.get(position).map(|parameter| parameter.name.clone()).filter(|name| !name.is_empty())
}
