//! The invariants of a kernel, each checked.
//!
//! Structure
//! 1. There is an entry block without predecessors, and its parameters match the kernel's in number and type.
//! 2. Every referenced entity exists.
//! 3. Every instruction is in at most one block, once; its result refers back to it.
//! 4. Every block parameter records its block and position.
//! 5. Every edge into a block passes one value per parameter, of the parameter's type.
//! 6. Cases of a switch are distinct, fit the selector, and the selector is an integer; a branch's condition is a
//!    `bool`.
//!
//! Values
//! 7. Every use is dominated by its definition, in reachable blocks.
//! 8. Constants have as many lanes as their type, truncated to its width.
//!
//! Operations
//! 9. Operands and result have the number and types that the operation requires (`operation`).
//! 10. Alignments are powers of two; lanes exist; dimensions are below 3; addresses with a stride have an index.
//!
//! Memory
//! 11. Objects of a kernel are private or local, aligned to a power of two, and their initial bytes match the size of
//!     their layout.
//! 12. A location is inlined at an earlier location.

mod operation;

use cranelift_entity::{PrimaryMap, SecondaryMap};

use crate::flow::{Cfg, Dominators};
use crate::{
    Block, Initial, Inst, Kernel, Module, ObjectData, ParameterKind, ProgramObject, Space, TerminatorKind,
    Type, Value, ValueDef,
};

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A block breaks a rule.
    #[error("{block}: {message}")]
    Block {
        /// The block.
        block: Block,
        /// What is wrong.
        message: String,
    },
    /// An instruction breaks a rule.
    #[error("{inst} (`{op}`) in {block}: {message}")]
    Instruction {
        /// The block.
        block: Block,
        /// The instruction.
        inst: Inst,
        /// Its operation, as in the text form.
        op: String,
        /// What is wrong.
        message: String,
    },
    /// A value breaks a rule.
    #[error("{value}: {message}")]
    Value {
        /// The value.
        value: Value,
        /// What is wrong.
        message: String,
    },
    /// Something else breaks a rule.
    #[error("{message}")]
    Other {
        /// What is wrong, and the location.
        message: String,
    },
}

/// Checks every invariant of every kernel.
///
/// # Errors
/// The first invariant that is broken.
pub fn verify(module: &Module) -> Result<(), VerifyError> {
    for (object, data) in &module.objects {
        check_object(&object.to_string(), data, &[Space::Constant, Space::Global])?;
        if let Initial::Bytes { relocations, .. } = &data.initial
            && relocations.iter().any(|relocation| !module.objects.is_valid(relocation.object))
        {
            return other(format_args!("{object} holds the address of an object that does not exist"));
        }
    }
    module.kernels.iter().try_for_each(|kernel| verify_kernel(kernel, &module.objects))
}

fn other<T>(message: impl std::fmt::Display) -> Result<T, VerifyError> {
    Err(VerifyError::Other { message: message.to_string() })
}

/// Checks every invariant of a kernel in a module with these objects.
///
/// # Errors
/// The first invariant that is broken.
pub fn verify_kernel(
    kernel: &Kernel,
    objects: &PrimaryMap<ProgramObject, ObjectData>,
) -> Result<(), VerifyError> {
    let mut checker = Checker { kernel, objects, owner: SecondaryMap::new() };
    checker.tables()?;
    checker.structure()?;
    checker.dominance()
}

struct Checker<'k> {
    kernel: &'k Kernel,
    objects: &'k PrimaryMap<ProgramObject, ObjectData>,
    /// Block and position of each instruction.
    owner: SecondaryMap<Inst, Option<(Block, u32)>>,
}

fn check_object(name: &str, data: &ObjectData, spaces: &[Space]) -> Result<(), VerifyError> {
    if !spaces.contains(&data.space) {
        return other(format_args!("{name} is in {} memory", data.space.name()));
    }
    if !data.align.is_power_of_two() {
        return other(format_args!("{name} is aligned to {}", data.align));
    }
    match &data.initial {
        Initial::Bytes { bytes, .. } if bytes.len() as u64 != data.bytes() => {
            other(format_args!("{name} has {} bytes and holds {}", data.bytes(), bytes.len()))
        }
        _ => Ok(()),
    }
}

impl Checker<'_> {
    fn tables(&self) -> Result<(), VerifyError> {
        let kernel = self.kernel;
        for (object, data) in &kernel.objects {
            check_object(&object.to_string(), data, &[Space::Private, Space::Local])?;
        }
        for (location, data) in &kernel.locations {
            if data.inlined_at.is_some_and(|outer| outer >= location) {
                return other(format_args!(
                    "{location} is inlined at a location that is not defined before it"
                ));
            }
        }
        for (value, data) in &kernel.values {
            if let ValueDef::Constant(lanes) = &data.def {
                let mask = data.ty.scalar().map_or(u64::MAX, crate::Scalar::mask);
                if lanes.len() != usize::from(data.ty.lanes()) || lanes.iter().any(|lane| lane & !mask != 0) {
                    let message = format!("a constant that does not fit {}", data.ty);
                    return Err(VerifyError::Value { value, message });
                }
            }
        }
        let Some(entry) = kernel.blocks.get(Kernel::ENTRY) else { return other("there is no entry block") };
        if entry.parameters.len() != kernel.parameters.len() {
            return other("the entry has another number of parameters than the kernel");
        }
        for (value, parameter) in entry.parameters.iter().zip(&kernel.parameters) {
            let wanted = match &parameter.kind {
                ParameterKind::Value(ty) => *ty,
                ParameterKind::Pointer { space, .. } => Type::Pointer(*space),
                ParameterKind::Struct { object } => {
                    if !kernel.objects.is_valid(*object) {
                        return other(format_args!("{object} does not exist"));
                    }
                    Type::Pointer(Space::Private)
                }
            };
            if kernel.values.get(*value).is_none_or(|data| data.ty != wanted) {
                return other(format_args!("{value} is not of the argument's type {wanted}"));
            }
        }
        Ok(())
    }

    fn structure(&mut self) -> Result<(), VerifyError> {
        let kernel = self.kernel;
        for (block, data) in &kernel.blocks {
            let wrong = |message: String| Err(VerifyError::Block { block, message });
            for (position, value) in data.parameters.iter().enumerate() {
                let def = ValueDef::Parameter(block, position as u32);
                if kernel.values.get(*value).is_none_or(|data| data.def != def) {
                    return wrong(format!("{value} is not its parameter {position}"));
                }
            }
            for (position, inst) in data.insts.iter().enumerate() {
                let Some(instruction) = kernel.insts.get(*inst) else {
                    return wrong(format!("{inst} does not exist"));
                };
                if self.owner[*inst].replace((block, position as u32)).is_some() {
                    return wrong(format!("{inst} is here and elsewhere"));
                }
                operation::check(self.kernel, self.objects, instruction).map_err(|message| {
                    VerifyError::Instruction { block, inst: *inst, op: instruction.op.to_string(), message }
                })?;
                if let Some(result) = instruction.result
                    && kernel.values[result].def != ValueDef::Result(*inst)
                {
                    return wrong(format!("{result} is not the result of {inst}"));
                }
            }
            for call in data.terminator.calls() {
                let Some(target) = kernel.blocks.get(call.block) else {
                    return wrong(format!("{} does not exist", call.block));
                };
                if call.block == Kernel::ENTRY {
                    return wrong("goes to the entry".into());
                }
                if call.arguments.len() != target.parameters.len() {
                    return wrong(format!(
                        "brings {} values to {}, which takes {}",
                        call.arguments.len(),
                        call.block,
                        target.parameters.len()
                    ));
                }
                for (argument, parameter) in call.arguments.iter().zip(&target.parameters) {
                    let types = (kernel.values.get(*argument), kernel.values.get(*parameter));
                    match types {
                        (Some(a), Some(b)) if a.ty == b.ty => {}
                        _ => return wrong(format!("{argument} is not of the type of {parameter}")),
                    }
                }
            }
            self.decider(block)?;
        }
        Ok(())
    }

    fn decider(&self, block: Block) -> Result<(), VerifyError> {
        let terminator = &self.kernel.blocks[block].terminator;
        let ty = |value: Value| self.kernel.values.get(value).map(|data| data.ty);
        let message = match &terminator.kind {
            TerminatorKind::Branch { condition, .. } if ty(*condition) != Some(Type::BOOL) => {
                format!("branches on {condition}, which is not a bool")
            }
            TerminatorKind::Switch { selector, cases, .. } => {
                let Some(Type::Scalar(scalar)) = ty(*selector).filter(|ty| ty.is_int()) else {
                    let message = format!("switches on {selector}, which is not an integer");
                    return Err(VerifyError::Block { block, message });
                };
                let mut values: Vec<u64> = cases.iter().map(|case| case.0).collect();
                values.sort_unstable();
                values.dedup();
                if values.len() == cases.len() && values.iter().all(|value| value & !scalar.mask() == 0) {
                    return Ok(());
                }
                "has equal cases, or cases that do not fit".into()
            }
            _ => return Ok(()),
        };
        Err(VerifyError::Block { block, message })
    }

    fn dominance(&self) -> Result<(), VerifyError> {
        let kernel = self.kernel;
        let cfg = Cfg::new(kernel);
        let dominators = Dominators::new(&cfg);
        // After every instruction: the terminator's position.
        let reaches = |value: Value, block: Block, position: u32| match kernel.values[value].def {
            ValueDef::Constant(_) => true,
            ValueDef::Parameter(home, _) => dominators.dominates(home, block),
            ValueDef::Result(inst) => match self.owner[inst] {
                Some((home, at)) if home == block => at < position,
                Some((home, _)) => dominators.dominates(home, block),
                None => false,
            },
        };
        for block in &cfg.order {
            let data = &kernel.blocks[*block];
            for (position, inst) in data.insts.iter().enumerate() {
                let instruction = &kernel.insts[*inst];
                if let Some(value) =
                    instruction.operands.iter().find(|value| !reaches(**value, *block, position as u32))
                {
                    let message = format!("{value} is not defined on every path to here");
                    let op = instruction.op.to_string();
                    return Err(VerifyError::Instruction { block: *block, inst: *inst, op, message });
                }
            }
            if let Some(value) = data.terminator.uses().find(|value| !reaches(*value, *block, u32::MAX)) {
                let message = format!("{value} is not defined on every path to its end");
                return Err(VerifyError::Block { block: *block, message });
            }
        }
        Ok(())
    }
}
