//! Everything outside of function bodies.

use std::collections::HashMap;

use rspirv::spirv::{self, AddressingModel, Capability, Decoration, ExecutionMode, Op};

use super::Options;
use super::code::{Code, Fallible, Raw, invalid, unsupported};
use super::constants::Constants;
use super::types::Types;
use crate::diagnostic::LoadError;
use crate::op::SubGroupShare;
use crate::types::{Scalar, Type};

/// The relevant decorations of one id.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a decoration of its own")]
pub(super) struct Decorations {
    pub(super) built_in: Option<u32>,
    pub(super) constant: bool,
    pub(super) packed: bool,
    pub(super) align: Option<u32>,
    pub(super) no_signed_wrap: bool,
    pub(super) no_unsigned_wrap: bool,
    pub(super) fast_math: u32,
    pub(super) rounding: Option<u32>,
    pub(super) saturate: bool,
    pub(super) spec_id: Option<u32>,
    pub(super) import: Option<String>,
    pub(super) sub_group_share: Option<SubGroupShare>,
    pub(super) by_value: bool,
    pub(super) no_write: bool,
    pub(super) restrict: bool,
    pub(super) volatile: bool,
}

/// A variable at module scope.
pub(super) struct Variable {
    /// Its pointer type.
    pub(super) ty: u32,
    pub(super) initializer: Option<u32>,
}

/// A function: its parameters, and its blocks in reverse postorder.
pub(super) struct Function {
    pub(super) result: u32,
    /// Id and type.
    pub(super) parameters: Vec<(u32, u32)>,
    pub(super) blocks: Vec<RawBlock>,
    pub(super) index: usize,
}

/// A block: the instructions after its label up to and including its terminator.
#[derive(Clone)]
pub(super) struct RawBlock {
    pub(super) label: u32,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A kernel.
pub(super) struct Entry {
    pub(super) function: u32,
    pub(super) name: String,
    pub(super) index: usize,
    pub(super) local_size: Option<[u32; 3]>,
    pub(super) local_size_hint: Option<[u32; 3]>,
    pub(super) vector_hint: Option<Type>,
    pub(super) sub_group_size: Option<u32>,
}

#[derive(Default)]
pub(super) struct Declarations {
    pub(super) types: Types,
    pub(super) constants: Constants,
    pub(super) variables: HashMap<u32, Variable>,
    /// Ids of variables in the module's order.
    pub(super) variable_order: Vec<u32>,
    pub(super) functions: HashMap<u32, Function>,
    pub(super) entries: Vec<Entry>,
    pub(super) names: HashMap<u32, String>,
    pub(super) strings: HashMap<u32, String>,
    pub(super) decorations: HashMap<u32, Decorations>,
    /// Ids of OpenCL.std.
    pub(super) library: Vec<u32>,
    /// Ids of instruction sets that carry only debug information.
    pub(super) debug: Vec<u32>,
}

static PLAIN: Decorations = Decorations {
    built_in: None,
    constant: false,
    packed: false,
    align: None,
    no_signed_wrap: false,
    no_unsigned_wrap: false,
    fast_math: 0,
    rounding: None,
    saturate: false,
    spec_id: None,
    import: None,
    sub_group_share: None,
    by_value: false,
    no_write: false,
    restrict: false,
    volatile: false,
};

/// The type of a `VecTypeHint` (SPIR-V, 3.6): the number of components, 0 for a scalar, and the kind of number.
fn vector_hint(word: u32) -> Option<Type> {
    let kinds = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::F16, Scalar::F32, Scalar::F64];
    let scalar = *kinds.get((word & 0xffff) as usize)?;
    match (word >> 16) as u8 {
        0 | 1 => Some(Type::of(scalar, 1)),
        lanes => Type::LANES.contains(&lanes).then(|| Type::of(scalar, lanes)),
    }
}

impl Declarations {
    pub(super) fn read(code: &Code, options: &Options) -> Result<Self, LoadError> {
        let mut all = Self::default();
        let mut index = 0;
        while let Some(raw) = code.get(index) {
            if raw.op == Op::Function {
                index = all
                    .function(code, raw)
                    .map_err(|(fault, at)| fault.at(code.get(at).unwrap_or(raw), "", None))?;
            } else {
                all.declaration(raw, options).map_err(|fault| fault.at(raw, "", None))?;
                index += 1;
            }
        }
        Ok(all)
    }

    pub(super) fn decorations(&self, id: u32) -> &Decorations {
        self.decorations.get(&id).unwrap_or(&PLAIN)
    }

    pub(super) fn name(&self, id: u32) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    fn declaration(&mut self, raw: Raw<'_>, options: &Options) -> Fallible<()> {
        match raw.op {
            Op::Capability => capability(raw.word(1)?),
            Op::MemoryModel => match AddressingModel::from_u32(raw.word(1)?) {
                Some(AddressingModel::Physical64) => Ok(()),
                model => unsupported(format_args!("addressing model {model:?} (only Physical64 is)")),
            },
            Op::ExtInstImport => {
                let (name, _) = raw.string(2);
                if name == "OpenCL.std" {
                    self.library.push(raw.word(1)?);
                } else if name.contains("Debug") || name.starts_with("NonSemantic") {
                    self.debug.push(raw.word(1)?);
                } else {
                    return unsupported(format_args!("the instruction set `{name}`"));
                }
                Ok(())
            }
            Op::EntryPoint => {
                if raw.word(1)? != spirv::ExecutionModel::Kernel as u32 {
                    return unsupported("an entry point that is not a kernel");
                }
                self.entries.push(Entry {
                    function: raw.word(2)?,
                    name: raw.string(3).0,
                    index: raw.index,
                    local_size: None,
                    local_size_hint: None,
                    vector_hint: None,
                    sub_group_size: None,
                });
                Ok(())
            }
            Op::ExecutionMode => self.execution_mode(raw),
            Op::String => {
                self.strings.insert(raw.word(1)?, raw.string(2).0);
                Ok(())
            }
            Op::Name => {
                self.names.insert(raw.word(1)?, raw.string(2).0);
                Ok(())
            }
            Op::Decorate => self.decorate(raw),
            Op::Variable => {
                let id = raw.word(2)?;
                let variable = Variable { ty: raw.word(1)?, initializer: raw.words.get(4).copied() };
                if self.variables.insert(id, variable).is_some() {
                    return invalid(format_args!("%{id} is declared twice"));
                }
                self.variable_order.push(id);
                Ok(())
            }
            op if Types::is_declaration(op) => {
                let packed = self.decorations(raw.word(1)?).packed;
                let constants = &self.constants;
                self.types.declare(raw, options.limits.depth, |id| constants.integer(id), packed)
            }
            op if Constants::is_declaration(op) => {
                let chosen = raw.words.get(2).and_then(|id| {
                    let wanted = self.decorations(*id).spec_id?;
                    options.specialization.iter().find(|entry| entry.0 == wanted).map(|entry| entry.1)
                });
                self.constants.declare(raw, &self.types, &self.variables, chosen)
            }
            // Decoration groups, member decorations (offsets follow the rules of C), hints, debug information.
            _ => Ok(()),
        }
    }

    fn execution_mode(&mut self, raw: Raw<'_>) -> Fallible<()> {
        let function = raw.word(1)?;
        let mode = ExecutionMode::from_u32(raw.word(2)?);
        let size = || Fallible::Ok([raw.word(3)?, raw.word(4)?, raw.word(5)?]);
        for entry in self.entries.iter_mut().filter(|entry| entry.function == function) {
            match mode {
                Some(ExecutionMode::LocalSize) => entry.local_size = Some(size()?),
                Some(ExecutionMode::LocalSizeHint) => entry.local_size_hint = Some(size()?),
                Some(ExecutionMode::VecTypeHint) => entry.vector_hint = vector_hint(raw.word(3)?),
                Some(ExecutionMode::SubgroupSize) => entry.sub_group_size = Some(raw.word(3)?),
                _ => {}
            }
        }
        Ok(())
    }

    fn decorate(&mut self, raw: Raw<'_>) -> Fallible<()> {
        let own = self.decorations.entry(raw.word(1)?).or_default();
        match Decoration::from_u32(raw.word(2)?) {
            Some(Decoration::BuiltIn) => own.built_in = Some(raw.word(3)?),
            Some(Decoration::Constant) => own.constant = true,
            Some(Decoration::CPacked) => own.packed = true,
            Some(Decoration::Alignment) => own.align = Some(raw.word(3)?),
            Some(Decoration::NoSignedWrap) => own.no_signed_wrap = true,
            Some(Decoration::NoUnsignedWrap) => own.no_unsigned_wrap = true,
            Some(Decoration::FPFastMathMode) => own.fast_math = raw.word(3)?,
            Some(Decoration::FPRoundingMode) => own.rounding = Some(raw.word(3)?),
            Some(Decoration::SaturatedConversion) => own.saturate = true,
            Some(Decoration::SpecId) => own.spec_id = Some(raw.word(3)?),
            Some(Decoration::Restrict) => own.restrict = true,
            Some(Decoration::Volatile) => own.volatile = true,
            Some(Decoration::LinkageAttributes) => {
                let (name, behind) = raw.string(3);
                if raw.words.get(behind) == Some(&(spirv::LinkageType::Import as u32)) {
                    own.import = Some(name);
                }
            }
            Some(Decoration::UserSemantic) => {
                let (words, _) = raw.string(3);
                if let Some(share) = words.strip_prefix("qcom_reqd_sub_group_size ") {
                    own.sub_group_share = SubGroupShare::named(share);
                }
            }
            Some(Decoration::FuncParamAttr) => {
                use spirv::FunctionParameterAttribute as Attribute;
                match Attribute::from_u32(raw.word(3)?) {
                    Some(Attribute::ByVal) => own.by_value = true,
                    Some(Attribute::NoWrite) => own.no_write = true,
                    Some(Attribute::NoAlias) => own.restrict = true,
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a function, and returns the index of the instruction after its end.
    fn function(&mut self, code: &Code, head: Raw<'_>) -> Result<usize, (super::code::Fault, usize)> {
        let at = |index: usize| move |fault| (fault, index);
        let mut function = Function {
            result: head.word(1).map_err(at(head.index))?,
            parameters: Vec::new(),
            blocks: Vec::new(),
            index: head.index,
        };
        let id = head.word(2).map_err(at(head.index))?;
        let mut open: Option<(u32, usize)> = None;
        let mut index = head.index + 1;
        while let Some(raw) = code.get(index) {
            let fault = at(index);
            match raw.op {
                Op::FunctionEnd => {
                    if open.is_some() {
                        return invalid("the last block has no end").map_err(fault);
                    }
                    function.blocks =
                        super::flow::reverse_postorder(code, &function.blocks).map_err(fault)?;
                    if self.functions.insert(id, function).is_some() {
                        return invalid(format_args!("%{id} is declared twice")).map_err(at(index));
                    }
                    return Ok(index + 1);
                }
                Op::FunctionParameter => {
                    let ty = raw.word(1).map_err(fault)?;
                    function.parameters.push((raw.word(2).map_err(at(index))?, ty));
                }
                Op::Label if open.is_none() => {
                    open = Some((raw.word(1).map_err(fault)?, index + 1));
                }
                op if super::flow::is_terminator(op) => {
                    let Some((label, first)) = open.take() else {
                        return invalid("a terminator outside of any block").map_err(fault);
                    };
                    function.blocks.push(RawBlock { label, first, last: index });
                }
                Op::Label | Op::Function => return invalid("the block before has no end").map_err(fault),
                Op::Line | Op::NoLine | Op::ExtInst => {}
                _ if open.is_none() => return invalid("an instruction outside of any block").map_err(fault),
                _ => {}
            }
            index += 1;
        }
        invalid("the function has no end").map_err(at(head.index))
    }
}

/// Rejects the dialect for graphics, which is not supported at all. Other capabilities matter only through types and
/// instructions, which are rejected by name in the kernels that use them.
fn capability(number: u32) -> Fallible<()> {
    match Capability::from_u32(number) {
        Some(Capability::Shader) => unsupported("the capability Shader"),
        _ => Ok(()),
    }
}
