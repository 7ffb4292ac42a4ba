//! Entry points: kernels, their parameters and attributes.

use cranelift_entity::EntityRef as _;
use rspirv::spirv::Op as RawOp;

use super::code::{Fallible, Fault, Raw, invalid, unsupported};
use super::declare::{Entry, Function};
use super::rep::Rep;
use super::translator::{BodyTranslator, Frame};
use super::types::Kind;
use crate::diagnostic::{LoadError, SourceLocation};
use crate::{BlockData, Initial, Kernel, ObjectData, Parameter, ParameterKind, Space, Type, TypeLayout};

impl BodyTranslator<'_> {
    /// Translates an entry point, then verifies and cleans it.
    pub(super) fn whole(&mut self, entry: &Entry) -> Result<Kernel, LoadError> {
        self.current = entry.index;
        self.entry(entry).map_err(|fault| self.located(fault, &entry.name))?;
        let mut kernel = std::mem::take(&mut self.kernel);
        super::finish::finish(&mut kernel, &self.module, self.options)?;
        Ok(kernel)
    }

    /// Drops the program-scope objects from that number on: those of a rejected kernel may be incomplete.
    pub(super) fn forget(&mut self, from: usize) {
        let objects = std::mem::take(&mut self.module.objects);
        self.module.objects = objects.into_iter().take(from).map(|entry| entry.1).collect();
        self.program_objects.retain(|_, object| object.index() < from);
    }

    fn located(&self, fault: Fault, kernel: &str) -> LoadError {
        let source = self.line.map(|(file, line, column)| SourceLocation {
            file: self.module.files[file].to_string(),
            line,
            column,
        });
        match self.code.get(self.current) {
            Some(raw) => fault.at(raw, kernel, source),
            None => LoadError::Malformed { reason: "no instruction".into(), byte: 0 },
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
            vector_hint: entry.vector_hint,
            required_sub_group_size: entry.sub_group_size,
            ..Kernel::default()
        };
        self.block = self.kernel.blocks.push(BlockData::default());
        (self.line, self.inlined_at) = (None, None);
        self.local_objects.clear();
        self.locations.clear();
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
                    pointee: info.layout.clone().unwrap_or(TypeLayout::Bytes(0)),
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
}
