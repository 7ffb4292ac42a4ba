//! `private-table`: each work-item has an array in memory.

use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::MemoryFact;
use tripipe_ir::flow::linear::Base;
use tripipe_ir::{Initial, Inst, Object, Op, Space};

use super::context::{Advice, Context};
use super::rewrite;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "private-table",
    severity: Severity::Warning,
    title: "a private array is stored in memory",
    what: "A private array that is read at an index known only at run time.",
    why: "
Registers cannot be indexed: such an array is stored in memory, once for each work-item. Each access goes through the
load/store pipe. Every work-item also writes a table of constants again.",
    example: "
float squares[16];
for (int k = 0; k < 16; ++k)
    squares[k] = k * k;
out[i] = squares[in[i] & 15];",
    instead: "
constant float squares[16] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 };  // outside of the kernel",
    remark: "
Read an array that is not constant at known indices: in an unrolled loop, or with select between a few values.",
    exceptions: "Where the array is large and little of it is written and read.",
    source: "- Arm OpenCL guides: private arrays are stored in memory. OpenCL C 3.0, 6.7: address spaces.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let kernel = context.kernel;
    for (object, data) in &kernel.objects {
        let own: Vec<&MemoryFact> =
            context.facts.memory().iter().filter(|fact| fact.base == Base::Object(object)).collect();
        let looked_up = own.iter().find(|fact| !fact.writes && !fact.offset.terms.is_empty());
        let Some(looked_up) = looked_up.filter(|_| data.initial == Initial::Unwritten) else { continue };
        if data.space != Space::Private {
            continue;
        }
        let stores = own.iter().filter(|fact| fact.writes);
        let is_constant = |fact: &&&MemoryFact| {
            let data = &kernel.insts[fact.inst];
            let value = data.operands.get(1);
            matches!(data.op, Op::Store(_))
                && fact.offset.terms.is_empty()
                && value.is_some_and(|value| kernel.constant(*value).is_some())
        };
        let copies = copies_into(context, object);
        let location = kernel.insts[looked_up.inst].location;
        let name = match context.access(looked_up.inst).map(|access| access.name(kernel)) {
            Some(name) if !name.is_empty() => format!("`{name}`"),
            _ => "a private array".to_owned(),
        };
        if stores.clone().all(|fact| is_constant(&fact)) {
            let gone: Vec<Inst> = stores.clone().map(|fact| fact.inst).chain(copies).collect();
            found.push(Advice {
                rule: &RULE,
                location,
                message: format!(
                    "{name} holds {} bytes of constants, which every work-item writes to its own memory \
                    before it reads them",
                    data.bytes()
                ),
                fix: "Declare it constant, outside of the kernel.".into(),
                gain: Some(context.rewritten(|kernel| rewrite::remove(kernel, &gone))),
            });
        } else {
            found.push(Advice {
                rule: &RULE,
                location,
                message: format!(
                    "{name} is read at an index known only at run time: its {} bytes are stored in memory, \
                    with {} and {}",
                    data.bytes(),
                    counted(own.len() - stores.clone().count(), "load"),
                    counted(stores.count(), "store")
                ),
                fix: "Unroll the loop that indexes it, or select between a few values.".into(),
                gain: None,
            });
        }
    }
}

/// Copies of the program's constants into an object.
fn copies_into(context: &Context<'_>, object: Object) -> Vec<Inst> {
    let kernel = context.kernel;
    let base = |value| context.facts.forms().address(kernel, value).0;
    let is_copy = |inst: &Inst| {
        let data = &kernel.insts[*inst];
        matches!(data.op, Op::Copy(_))
            && base(data.operands[0]) == Base::Object(object)
            && matches!(base(data.operands[1]), Base::Program(_))
    };
    context.instructions().map(|(_, inst)| inst).filter(is_copy).collect()
}
