//! Kernels: each entry point with all calls inlined.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cranelift_entity::EntityRef as _;
use rspirv::spirv::Op as RawOp;

use super::code::{Code, Fallible, Fault, Raw, invalid, unsupported};
use super::declare::{Declarations, Entry, Function};
use super::rep::Rep;
use super::types::Kind;
use super::{Loaded, Options, Refused};
use crate::diagnostic::{LoadError, SourcePlace};
use crate::{
    Block, BlockCall, File, Initial, Kernel, Layout, Module, Object, ObjectData, Op, Parameter,
    ParameterKind, Place, PlaceData, ProgramObject, Space, Terminator, TerminatorKind, Type, Value,
};

/// Translates every entry point.
pub(super) fn translate(code: &Code, all: &Declarations, options: &Options) -> Loaded {
    let mut translator = Translator {
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
        places: HashMap::new(),
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

pub(super) struct Translator<'m> {
    pub(super) code: &'m Code,
    pub(super) all: &'m Declarations,
    pub(super) options: &'m Options,
    pub(super) module: Module,
    pub(super) program_objects: HashMap<u32, ProgramObject>,
    files: HashMap<u32, File>,
    pub(super) kernel: Kernel,
    pub(super) block: Block,
    pub(super) local_objects: HashMap<u32, Object>,
    /// The number of instructions that may still be created.
    fuel: usize,
    /// The current file, line and column.
    line: Option<(File, u32, u32)>,
    inlined_at: Option<Place>,
    places: HashMap<PlaceData, Place>,
    pub(super) frame: Frame,
    /// Functions being inlined, outermost first.
    calls: Vec<u32>,
    /// The index of the current instruction.
    current: usize,
}

/// One call of a function.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) values: HashMap<u32, Rep>,
    /// Declared types of ids; a pointer's value does not contain its pointee type.
    pub(super) types: HashMap<u32, u32>,
    /// The first IR block of each raw block.
    starts: HashMap<u32, Block>,
    /// Phis of each raw block, in order.
    phis: HashMap<u32, Vec<Phi>>,
    /// Edges whose arguments are filled in after all blocks: block, position among its calls, from label, to label.
    edges: Vec<(Block, usize, u32, u32)>,
    /// The block to continue in after a return; `None` for the kernel itself.
    behind: Option<Block>,
}

#[derive(Clone)]
struct Phi {
    /// Label of the predecessor, and the id of the value.
    sources: Vec<(u32, u32)>,
    index: usize,
}

impl Translator<'_> {
    /// Translates an entry point, then verifies and cleans it.
    fn whole(&mut self, entry: &Entry) -> Result<Kernel, LoadError> {
        self.current = entry.index;
        self.entry(entry).map_err(|fault| self.located(fault, &entry.name))?;
        let mut kernel = std::mem::take(&mut self.kernel);
        super::finish(&mut kernel, &self.module, self.options)?;
        Ok(kernel)
    }

    /// Drops the program-scope objects from that number on: those of a rejected kernel may be incomplete.
    fn forget(&mut self, from: usize) {
        let objects = std::mem::take(&mut self.module.objects);
        self.module.objects = objects.into_iter().take(from).map(|entry| entry.1).collect();
        self.program_objects.retain(|_, object| object.index() < from);
    }

    fn located(&self, fault: Fault, kernel: &str) -> LoadError {
        let source = self.line.map(|(file, line, column)| SourcePlace {
            file: self.module.files[file].to_string(),
            line,
            column,
        });
        match self.code.get(self.current) {
            Some(raw) => fault.at(raw, kernel, source),
            None => LoadError::Malformed { reason: "no instruction".into(), byte: 0 },
        }
    }

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
        let place = self.place();
        let inst = self.kernel.make_inst(op, operands, ty, place);
        self.kernel.blocks[self.block].insts.push(inst);
        Ok(inst)
    }

    /// Counts instructions against the limit.
    pub(super) fn burn(&mut self, count: usize) -> Fallible<()> {
        let limit = self.options.limits.instructions;
        self.fuel = self.fuel.checked_sub(count).ok_or(Fault::TooLarge("instructions", limit))?;
        Ok(())
    }

    pub(super) fn place(&mut self) -> Option<Place> {
        let (file, line, column) = self.line?;
        let data = PlaceData { file, line, column, inlined_at: self.inlined_at };
        let places = &mut self.kernel.places;
        Some(*self.places.entry(data).or_insert_with(|| places.push(data)))
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

    fn entry(&mut self, entry: &Entry) -> Fallible<()> {
        let Some(function) = self.all.functions.get(&entry.function) else {
            return invalid(format_args!("%{} is not a function", entry.function));
        };
        self.kernel = Kernel {
            name: entry.name.clone(),
            required_local_size: entry.local_size,
            local_size_hint: entry.local_size_hint,
            required_sub_group_size: entry.sub_group_size,
            ..Kernel::default()
        };
        self.block = self.kernel.blocks.push(crate::BlockData::default());
        (self.line, self.inlined_at) = (None, None);
        self.local_objects.clear();
        self.places.clear();
        self.frame = Frame::default();
        // LLVM's translator wraps each kernel into an entry point that only calls it.
        let wrapped = self.wrapped(function);
        let inner = wrapped.unwrap_or(entry.function);
        let function = match self.all.functions.get(&inner) {
            Some(inner) if !inner.blocks.is_empty() => inner,
            _ => return unsupported(format_args!("the kernel `{}` without a body", entry.name)),
        };
        self.kernel.required_sub_group_share = self
            .all
            .decorations(inner)
            .sub_group_share
            .or(self.all.decorations(entry.function).sub_group_share);
        self.current = function.index;
        let mut arguments = Vec::new();
        let types = super::strings::list(self.all, "kernel_arg_type", &entry.name);
        let qualifiers = super::strings::list(self.all, "kernel_arg_type_qual", &entry.name);
        for (position, (id, ty)) in function.parameters.iter().enumerate() {
            let type_name = types.get(position).cloned().unwrap_or_default();
            let qualifier = qualifiers.get(position).map_or("", String::as_str);
            arguments.push(self.parameter(*id, *ty, type_name, qualifier)?);
        }
        self.calls = vec![inner];
        self.body(function, arguments)?;
        Ok(())
    }

    /// The function that a wrapper calls; `None` if the function is not merely a wrapper.
    fn wrapped(&self, function: &Function) -> Option<u32> {
        let [block] = &function.blocks[..] else { return None };
        let body: Vec<Raw<'_>> = (block.first..=block.last)
            .filter_map(|index| self.code.get(index))
            .filter(|raw| !matches!(raw.op, RawOp::Line | RawOp::NoLine))
            .collect();
        let [call, end] = &body[..] else { return None };
        let own: Vec<u32> = function.parameters.iter().map(|parameter| parameter.0).collect();
        (call.op == RawOp::FunctionCall && end.op == RawOp::Return && call.rest(4) == own)
            .then(|| call.words.get(3).copied())?
    }

    fn parameter(&mut self, id: u32, ty: u32, type_name: String, qualifier: &str) -> Fallible<Rep> {
        let decorations = self.all.decorations(id);
        let name = self.all.name(id).to_owned();
        let info = self.all.types.get(ty)?;
        let value_type = self.all.types.value(ty)?;
        let kind = match info.kind {
            Kind::Pointer(Space::Private, pointee) if decorations.by_value => {
                let layout = self.all.types.layout(pointee)?.clone();
                let align = decorations.align.unwrap_or(1).max(self.all.types.get(pointee)?.align);
                let initial = Initial::Argument(self.kernel.parameters.len() as u32);
                let object = ObjectData { name: name.clone(), space: Space::Private, align, layout, initial };
                ParameterKind::Struct { object: self.kernel.objects.push(object) }
            }
            Kind::Pointer(Space::Private | Space::Generic, _) => {
                return unsupported("a kernel argument that points to private or generic memory");
            }
            Kind::Pointer(space, pointee) => {
                let info = self.all.types.get(pointee)?;
                let has = |word: &str| qualifier.split(' ').any(|part| part == word);
                ParameterKind::Pointer {
                    space,
                    pointee: info.layout.clone().unwrap_or(Layout::Bytes(0)),
                    align: decorations.align.unwrap_or(info.align),
                    read_only: space == Space::Constant || has("const"),
                    restrict: decorations.restrict || has("restrict"),
                    volatile: decorations.volatile || has("volatile"),
                }
            }
            _ if value_type == Type::Event || value_type == Type::BOOL => {
                return unsupported(format_args!("a kernel argument of type {value_type}"));
            }
            _ => ParameterKind::Value(value_type),
        };
        let value = self.kernel.add_parameter(Kernel::ENTRY, value_type);
        if !name.is_empty() {
            self.kernel.names[value] = Some(name.as_str().into());
        }
        self.kernel.parameters.push(Parameter { name, type_name, kind });
        Ok(Rep::Value(value))
    }

    /// Translates a function's blocks in place; the current block becomes its entry.
    fn body(&mut self, function: &Function, arguments: Vec<Rep>) -> Fallible<()> {
        if arguments.len() != function.parameters.len() {
            return invalid("a call whose argument count differs from the parameter count");
        }
        for ((id, ty), argument) in function.parameters.iter().zip(arguments) {
            self.frame.values.insert(*id, argument);
            self.frame.types.insert(*id, *ty);
        }
        for (position, raw) in function.blocks.iter().enumerate() {
            let block =
                if position == 0 { self.block } else { self.kernel.blocks.push(crate::BlockData::default()) };
            self.frame.starts.insert(raw.label, block);
        }
        self.burn(function.blocks.len())?;
        // Phis first. Only other phis use their values before their blocks are translated, but the parameters of a
        // block must exist before anything else is added to it.
        for raw in function.blocks.iter().skip(1) {
            self.phis(raw)?;
        }
        for raw in &function.blocks {
            self.block = self.frame.starts[&raw.label];
            self.line = None;
            for index in raw.first..raw.last {
                self.current = index;
                if let Some(instruction) = self.code.get(index) {
                    self.instruction(instruction)?;
                }
            }
            self.current = raw.last;
            if let Some(instruction) = self.code.get(raw.last) {
                self.terminator(instruction, raw.label)?;
            }
        }
        self.edges()
    }

    fn phis(&mut self, raw: &super::declare::RawBlock) -> Fallible<()> {
        let block = self.frame.starts[&raw.label];
        let mut phis = Vec::new();
        for index in raw.first..raw.last {
            let Some(instruction) = self.code.get(index).filter(|raw| raw.op == RawOp::Phi) else { continue };
            self.current = index;
            let (ty, id) = (instruction.word(1)?, instruction.word(2)?);
            let rep = self.fill(ty, |this, ty| this.kernel.add_parameter(block, ty))?;
            self.frame.values.insert(id, rep);
            self.frame.types.insert(id, ty);
            let sources = instruction.rest(3).chunks_exact(2).map(|pair| (pair[1], pair[0])).collect();
            phis.push(Phi { sources, index });
        }
        self.frame.phis.insert(raw.label, phis);
        Ok(())
    }

    /// Fills the arguments of all edges, now that every value is known.
    fn edges(&mut self) -> Fallible<()> {
        for (block, position, from, to) in std::mem::take(&mut self.frame.edges) {
            let phis = self.frame.phis.get(&to).cloned().unwrap_or_default();
            let mut arguments = Vec::new();
            for phi in phis {
                self.current = phi.index;
                let Some((_, id)) = phi.sources.iter().find(|source| source.0 == from) else {
                    return invalid(format_args!("no value for the edge from %{from}"));
                };
                self.block = block;
                self.rep(*id)?.flatten(&mut arguments)?;
            }
            self.burn(arguments.len())?;
            if let Some(call) = self.kernel.blocks[block].terminator.calls_mut().into_iter().nth(position) {
                call.arguments = arguments;
            }
        }
        Ok(())
    }

    fn terminator(&mut self, raw: Raw<'_>, label: u32) -> Fallible<()> {
        let labels = match raw.op {
            RawOp::Switch => {
                let selector = self.value(raw.word(1)?)?;
                let words = if self.kernel.ty(selector).bytes() == 8 { 2 } else { 1 };
                super::flow::targets(raw, words)?
            }
            _ => super::flow::targets(raw, 1)?,
        };
        let mut calls = Vec::with_capacity(labels.len());
        for target in &labels {
            match self.frame.starts.get(target) {
                Some(block) => calls.push(BlockCall::to(*block)),
                None => return invalid(format_args!("%{target} is not a block of the function")),
            }
        }
        let mut calls_left = calls.into_iter();
        let mut next = || calls_left.next().ok_or_else(|| Fault::Invalid("a target is missing".into()));
        // Positions among the terminator's calls; a switch lists its default last.
        let mut order: Vec<usize> = (0..labels.len()).collect();
        let kind = match raw.op {
            RawOp::Branch => TerminatorKind::Jump(next()?),
            RawOp::BranchConditional => {
                let condition = self.value(raw.word(1)?)?;
                TerminatorKind::Branch { condition, then: next()?, otherwise: next()? }
            }
            RawOp::Switch => {
                let selector = self.value(raw.word(1)?)?;
                let Type::Scalar(scalar) = self.kernel.ty(selector) else {
                    return invalid("a switch over a value that is not an integer");
                };
                let step = if scalar.bytes() == 8 { 3 } else { 2 };
                let default = next()?;
                let mut cases: Vec<(u64, BlockCall)> = Vec::new();
                for case in raw.rest(3).chunks_exact(step) {
                    let high = if step == 3 { u64::from(case[1]) << 32 } else { 0 };
                    cases.push(((u64::from(case[0]) | high) & scalar.mask(), next()?));
                }
                let count = cases.len();
                order = [count].into_iter().chain(0..count).collect();
                TerminatorKind::Switch { selector, cases, default }
            }
            RawOp::Return | RawOp::ReturnValue => {
                let mut values = Vec::new();
                if raw.op == RawOp::ReturnValue {
                    self.rep(raw.word(1)?)?.flatten(&mut values)?;
                }
                match self.frame.behind {
                    Some(block) => TerminatorKind::Jump(BlockCall { block, arguments: values }),
                    None => TerminatorKind::Return,
                }
            }
            RawOp::Unreachable => TerminatorKind::Unreachable,
            other => return unsupported(format_args!("Op{other:?}")),
        };
        self.burn(labels.len())?;
        for (target, position) in labels.iter().zip(order) {
            self.frame.edges.push((self.block, position, label, *target));
        }
        let place = self.place();
        self.kernel.blocks[self.block].terminator = Terminator { kind, place };
        Ok(())
    }

    /// Inlines a call.
    pub(super) fn call(&mut self, raw: Raw<'_>) -> Fallible<()> {
        let (ty, id, callee) = (raw.word(1)?, raw.word(2)?, raw.word(3)?);
        let Some(function) = self.all.functions.get(&callee) else {
            return invalid(format_args!("%{callee} is not a function"));
        };
        if function.blocks.is_empty() {
            let import = self.all.decorations(callee).import.clone();
            let name = import.unwrap_or_else(|| self.all.name(callee).to_owned());
            return self.foreign_call(raw, &name);
        }
        if self.calls.contains(&callee) {
            return unsupported(format_args!("recursion in `{}`", self.all.name(callee)));
        }
        if self.calls.len() >= self.options.limits.depth {
            return Err(Fault::TooLarge("nested calls", self.options.limits.depth));
        }
        let mut arguments = Vec::new();
        for (position, argument) in raw.rest(4).iter().enumerate() {
            let rep = self.rep(*argument)?;
            let by_value = function
                .parameters
                .get(position)
                .filter(|parameter| self.all.decorations(parameter.0).by_value);
            arguments.push(match (by_value, rep) {
                (Some((parameter, ty)), Rep::Value(pointer)) => {
                    Rep::Value(self.copied(pointer, *ty, self.all.name(*parameter))?)
                }
                (_, rep) => rep,
            });
        }
        let behind = self.kernel.blocks.push(crate::BlockData::default());
        let result = match self.all.types.get(function.result)?.kind {
            Kind::Void => None,
            _ => Some(self.fill(ty, |this, ty| this.kernel.add_parameter(behind, ty))?),
        };
        let site = self.place();
        let outer = std::mem::replace(&mut self.frame, Frame { behind: Some(behind), ..Frame::default() });
        let state = (self.line, self.inlined_at, self.current);
        self.inlined_at = site.or(self.inlined_at);
        self.calls.push(callee);
        self.body(function, arguments)?;
        self.calls.pop();
        (self.line, self.inlined_at, self.current) = state;
        self.frame = outer;
        self.block = behind;
        if let Some(result) = result {
            self.frame.values.insert(id, result);
            self.frame.types.insert(id, ty);
        }
        Ok(())
    }

    /// A private copy of a struct that is passed by value.
    fn copied(&mut self, pointer: Value, ty: u32, name: &str) -> Fallible<Value> {
        let pointee = self.all.types.pointee(ty)?;
        let object = self.private_object(pointee, name, None)?;
        let align = self.kernel.objects[object].align;
        let bytes = self.kernel.objects[object].bytes();
        let copy = self.emit(Op::ObjectAddress(object), &[], Type::Pointer(Space::Private))?;
        let count = self.kernel.make_constant(Type::I64, &[bytes]);
        let access = crate::op::Access { align, volatile: false, vector_builtin: false };
        self.effect(Op::Copy(access), &[copy, pointer, count])?;
        Ok(copy)
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

    fn instruction(&mut self, raw: Raw<'_>) -> Fallible<()> {
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
