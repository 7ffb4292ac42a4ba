//! The translator: each entry point becomes a kernel with all calls inlined.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rspirv::spirv::Op as RawOp;

use super::body::Phi;
use super::code::{Code, Fallible, Fault, Raw, invalid, unsupported};
use super::declare::Declarations;
use super::rep::Rep;
use super::{Loaded, Options, Refused};
use crate::{
    Block, File, Initial, Kernel, Location, LocationData, Module, Object, ObjectData, Op, ProgramObject,
    Space, Type, Value,
};

/// Translates every entry point.
pub(super) fn translate(code: &Code, all: &Declarations, options: &Options) -> Loaded {
    let mut translator = BodyTranslator {
        code,
        all,
        options,
        module: Module::default(),
        program_objects: HashMap::new(),
        files: HashMap::new(),
        kernel: Kernel::default(),
        block: Kernel::ENTRY,
        local_objects: HashMap::new(),
        fuel: options.limits.instructions,
        line: None,
        inlined_at: None,
        locations: HashMap::new(),
        frame: Frame::default(),
        calls: Vec::new(),
        current: 0,
    };
    let mut refused = Vec::new();
    let mut names = HashSet::new();
    for entry in all.entries.iter().filter(|entry| names.insert(&entry.name)) {
        let objects = translator.module.objects.len();
        match translator.whole(entry) {
            Ok(kernel) => translator.module.kernels.push(kernel),
            Err(error) => {
                translator.forget(objects);
                refused.push(Refused { kernel: entry.name.clone(), error });
            }
        }
    }
    Loaded { module: translator.module, refused }
}

pub(super) struct BodyTranslator<'m> {
    pub(super) code: &'m Code,
    pub(super) all: &'m Declarations,
    pub(super) options: &'m Options,
    pub(super) module: Module,
    pub(super) program_objects: HashMap<u32, ProgramObject>,
    pub(super) files: HashMap<u32, File>,
    pub(super) kernel: Kernel,
    pub(super) block: Block,
    pub(super) local_objects: HashMap<u32, Object>,
    /// The number of instructions that may still be created.
    pub(super) fuel: usize,
    /// The current file, line and column.
    pub(super) line: Option<(File, u32, u32)>,
    pub(super) inlined_at: Option<Location>,
    pub(super) locations: HashMap<LocationData, Location>,
    pub(super) frame: Frame,
    /// Functions being inlined, outermost first.
    pub(super) calls: Vec<u32>,
    /// The index of the current instruction.
    pub(super) current: usize,
}

/// One call of a function.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) values: HashMap<u32, Rep>,
    /// Declared types of ids; a pointer's value does not contain its pointee type.
    pub(super) types: HashMap<u32, u32>,
    /// The first IR block of each raw block.
    pub(super) starts: HashMap<u32, Block>,
    /// Phis of each raw block, in order.
    pub(super) phis: HashMap<u32, Vec<Phi>>,
    /// Edges whose arguments are filled in after all blocks: block, position among its calls, from label, to label.
    pub(super) edges: Vec<(Block, usize, u32, u32)>,
    /// The block to continue in after a return; `None` for the kernel itself.
    pub(super) behind: Option<Block>,
}

impl BodyTranslator<'_> {
    /// Adds an instruction with a result to the current block.
    pub(super) fn emit(&mut self, op: Op, operands: &[Value], ty: Type) -> Fallible<Value> {
        let inst = self.push(op, operands, Some(ty))?;
        match self.kernel.insts[inst].result {
            Some(value) => Ok(value),
            None => invalid("no result"),
        }
    }

    /// Adds an instruction without a result.
    pub(super) fn effect(&mut self, op: Op, operands: &[Value]) -> Fallible<()> {
        self.push(op, operands, None).map(|_| ())
    }

    fn push(&mut self, op: Op, operands: &[Value], ty: Option<Type>) -> Fallible<crate::Inst> {
        self.burn(1)?;
        let location = self.location();
        let inst = self.kernel.make_inst(op, operands, ty, location);
        self.kernel.blocks[self.block].insts.push(inst);
        Ok(inst)
    }

    /// Counts instructions against the limit.
    pub(super) fn burn(&mut self, count: usize) -> Fallible<()> {
        let limit = self.options.limits.instructions;
        self.fuel = self.fuel.checked_sub(count).ok_or(Fault::TooLarge("instructions", limit))?;
        Ok(())
    }

    pub(super) fn location(&mut self) -> Option<Location> {
        let (file, line, column) = self.line?;
        let data = LocationData { file, line, column, inlined_at: self.inlined_at };
        let locations = &mut self.kernel.locations;
        Some(*self.locations.entry(data).or_insert_with(|| locations.push(data)))
    }

    fn file(&mut self, id: u32) -> File {
        if let Some(file) = self.files.get(&id) {
            return *file;
        }
        let name = self.all.strings.get(&id).map_or("", String::as_str);
        let file = self.module.files.push(Arc::from(name));
        self.files.insert(id, file);
        file
    }

    /// The value of a scalar integer constant operand.
    pub(super) fn integer(&self, id: u32) -> Fallible<u64> {
        match self.all.constants.integer(id) {
            Some(bits) => Ok(bits),
            None => unsupported(format_args!("an operand (%{id}) that is not a constant")),
        }
    }

    /// A new private object; its lifetime starts here.
    pub(super) fn private_object(
        &mut self,
        pointee: u32,
        name: &str,
        align: Option<u32>,
    ) -> Fallible<Object> {
        let layout = self.all.types.layout(pointee)?.clone();
        let natural = self.all.types.get(pointee)?.align;
        let align = align.filter(|align| align.is_power_of_two()).unwrap_or(1).max(natural);
        let object = self.kernel.objects.push(ObjectData {
            name: name.to_owned(),
            space: Space::Private,
            align,
            layout,
            initial: Initial::Unwritten,
        });
        self.effect(Op::LifetimeStart(object), &[])?;
        Ok(object)
    }

    pub(super) fn instruction(&mut self, raw: Raw<'_>) -> Fallible<()> {
        match raw.op {
            RawOp::Line => {
                let file = self.file(raw.word(1)?);
                let line = raw.word(2)?;
                self.line = (line != 0).then_some((file, line, raw.word(3)?));
                Ok(())
            }
            RawOp::NoLine => {
                self.line = None;
                Ok(())
            }
            RawOp::Nop | RawOp::LoopMerge | RawOp::SelectionMerge | RawOp::Phi | RawOp::AssumeTrueKHR => {
                Ok(())
            }
            RawOp::FunctionCall => self.call(raw),
            RawOp::ExtInst => self.extended(raw),
            _ => {
                if self.memory(raw)?
                    || self.numbers(raw)?
                    || self.bits(raw)?
                    || self.groups(raw)?
                    || self.images(raw)?
                {
                    Ok(())
                } else {
                    unsupported(format_args!("Op{:?}", raw.op))
                }
            }
        }
    }

    /// Records the meaning of a raw instruction's id.
    pub(super) fn define(&mut self, raw: Raw<'_>, rep: Rep) -> Fallible<()> {
        let id = raw.word(2)?;
        let name = self.all.name(id);
        if let Rep::Value(value) = rep
            && !name.is_empty()
            && self.kernel.names[value].is_none()
            && self.kernel.constant(value).is_none()
        {
            self.kernel.names[value] = Some(name.into());
        }
        self.frame.values.insert(id, rep);
        self.frame.types.insert(id, raw.word(1)?);
        Ok(())
    }

    /// The type of a raw instruction's result.
    pub(super) fn result_type(&self, raw: Raw<'_>) -> Fallible<Type> {
        self.all.types.value(raw.word(1)?)
    }
}
