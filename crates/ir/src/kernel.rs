//! Modules, kernels, blocks, instructions, memory objects.

use std::collections::HashMap;
use std::sync::Arc;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;

use tripipe_device::OpenCl;

use crate::op::SubGroupShare;
use crate::{
    Block, File, Flags, Inst, Location, LocationData, Object, Op, ProgramObject, Space, Type, TypeLayout,
    Value,
};

/// The contents of a SPIR-V module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Source files, by the names the front end gave.
    pub files: PrimaryMap<File, Arc<str>>,
    /// Program-scope constants and variables.
    pub objects: PrimaryMap<ProgramObject, ObjectData>,
    /// The kernels, in the module's order.
    pub kernels: Vec<Kernel>,
}

impl Module {
    /// The kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// A self-contained kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its arguments, in order.
    pub parameters: Vec<Parameter>,
    /// `reqd_work_group_size`.
    pub required_local_size: Option<[u32; 3]>,
    /// `work_group_size_hint`.
    pub local_size_hint: Option<[u32; 3]>,
    /// `vec_type_hint`. Modules do not say whether integers are signed.
    pub vector_hint: Option<Type>,
    /// `intel_reqd_sub_group_size` and similar attributes.
    pub required_sub_group_size: Option<u32>,
    /// `qcom_reqd_sub_group_size`: one of a GPU's two sizes, where it has two.
    pub required_sub_group_share: Option<SubGroupShare>,
    /// Values: block parameters, results, constants.
    pub values: PrimaryMap<Value, ValueData>,
    /// Instructions.
    pub insts: PrimaryMap<Inst, Instruction>,
    /// Blocks. Block 0 is the entry; a loaded kernel has them in reverse postorder, without unreachable ones.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Private and local objects.
    pub objects: PrimaryMap<Object, ObjectData>,
    /// Source locations.
    pub locations: PrimaryMap<Location, LocationData>,
    /// `printf` formats.
    pub formats: Vec<String>,
    /// Names of values in the source, where the front end retained them.
    pub names: SecondaryMap<Value, Option<Arc<str>>>,
    /// Constants by content, so that equal constants share one value.
    pub(crate) interned: HashMap<(Type, Box<[u64]>), Value>,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, empty if unknown.
    pub name: String,
    /// The type as spelled in the source, empty if unknown.
    pub type_name: String,
    /// The kind of the argument.
    pub kind: ParameterKind,
}

/// The kind of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    /// A scalar, vector, image or sampler.
    Value(Type),
    /// A buffer, or for [`Space::Local`] a number of bytes of local memory.
    Pointer {
        /// The address space.
        space: Space,
        /// What it points to, as far as the source tells.
        pointee: TypeLayout,
        /// The alignment that the source guarantees.
        align: u32,
        /// Declared `const`: the kernel does not write through it.
        read_only: bool,
        /// Declared `restrict`.
        restrict: bool,
        /// Declared `volatile`.
        volatile: bool,
    },
    /// A struct by value: its bytes fill a private object; the entry's parameter is its address.
    Struct {
        /// The object.
        object: Object,
    },
}

/// A memory object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectData {
    /// The name in the source, empty if unknown.
    pub name: String,
    /// The address space.
    pub space: Space,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Its layout, which includes the size.
    pub layout: TypeLayout,
    /// Its initial contents.
    pub initial: Initial,
}

impl ObjectData {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }
}

/// The initial contents of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// Uninitialised.
    Unwritten,
    /// Zeros.
    Zero,
    /// These bytes, as many as the object has; the relocations contain addresses.
    Bytes {
        /// The bytes.
        bytes: Arc<[u8]>,
        /// Locations of addresses.
        relocations: Arc<[Relocation]>,
    },
    /// The argument with this index.
    Argument(u32),
}

/// An address inside initial bytes: eight bytes at `offset` hold the address of `object` plus `addend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Offset in bytes.
    pub offset: u64,
    /// The object whose address is stored.
    pub object: ProgramObject,
    /// Bytes added to the address.
    pub addend: i64,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its definition.
    pub def: ValueDef,
}

/// The definition of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Parameter of a block, by position.
    Parameter(Block, u32),
    /// Result of an instruction.
    Result(Inst),
    /// A constant: the bits of each lane (floats as their encoding, pointers as the address, samplers as
    /// [`crate::op::SamplerBits`]).
    Constant(Box<[u64]>),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// What the source guarantees about it.
    pub flags: Flags,
    /// Operands; the operation's doc comment lists their order.
    pub operands: SmallVec<[Value; 3]>,
    /// Its result.
    pub result: Option<Value>,
    /// Its source location; `None` if the front end gave none.
    pub location: Option<Location>,
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockData {
    /// Its parameters.
    pub parameters: Vec<Value>,
    /// Its instructions.
    pub insts: Vec<Inst>,
    /// Its terminator.
    pub terminator: Terminator,
}

/// A block's terminator, with its source location.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terminator {
    /// The kind of terminator.
    pub kind: TerminatorKind,
    /// Its source location.
    pub location: Option<Location>,
}

/// A target block, and the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCall {
    /// The target.
    pub block: Block,
    /// One value per parameter.
    pub arguments: Vec<Value>,
}

impl BlockCall {
    /// A call of a block, initially without arguments.
    pub fn to(block: Block) -> Self {
        Self { block, arguments: Vec::new() }
    }
}

/// What a terminator does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TerminatorKind {
    /// Jumps to a block.
    Jump(BlockCall),
    /// Branches on a `bool`.
    Branch {
        /// The condition.
        condition: Value,
        /// The target if true.
        then: BlockCall,
        /// The target if false.
        otherwise: BlockCall,
    },
    /// Branches on an integer.
    Switch {
        /// The selector.
        selector: Value,
        /// Distinct values and their targets, in the source's order.
        cases: Vec<(u64, BlockCall)>,
        /// The target for all other values.
        default: BlockCall,
    },
    /// Ends the work-item.
    Return,
    /// Never reached, according to the source.
    #[default]
    Unreachable,
}

impl Terminator {
    /// The possible targets, in order.
    pub fn calls(&self) -> SmallVec<[&BlockCall; 2]> {
        match &self.kind {
            TerminatorKind::Jump(call) => SmallVec::from_iter([call]),
            TerminatorKind::Branch { then, otherwise, .. } => SmallVec::from_iter([then, otherwise]),
            TerminatorKind::Switch { cases, default, .. } => {
                cases.iter().map(|case| &case.1).chain([default]).collect()
            }
            TerminatorKind::Return | TerminatorKind::Unreachable => SmallVec::new(),
        }
    }

    /// The possible targets, mutable.
    pub fn calls_mut(&mut self) -> SmallVec<[&mut BlockCall; 2]> {
        match &mut self.kind {
            TerminatorKind::Jump(call) => SmallVec::from_iter([call]),
            TerminatorKind::Branch { then, otherwise, .. } => SmallVec::from_iter([then, otherwise]),
            TerminatorKind::Switch { cases, default, .. } => {
                cases.iter_mut().map(|case| &mut case.1).chain([default]).collect()
            }
            TerminatorKind::Return | TerminatorKind::Unreachable => SmallVec::new(),
        }
    }

    /// The condition or selector, if there is one.
    pub fn decider(&self) -> Option<Value> {
        match &self.kind {
            TerminatorKind::Branch { condition, .. } => Some(*condition),
            TerminatorKind::Switch { selector, .. } => Some(*selector),
            _ => None,
        }
    }

    /// Every value it uses: the condition or selector, and all arguments.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        self.decider()
            .into_iter()
            .chain(self.calls().into_iter().flat_map(|call| call.arguments.iter().copied()))
    }

    /// Replaces every value it uses.
    pub(crate) fn replace(&mut self, mut with: impl FnMut(Value) -> Value) {
        match &mut self.kind {
            TerminatorKind::Branch { condition: value, .. }
            | TerminatorKind::Switch { selector: value, .. } => {
                *value = with(*value);
            }
            _ => {}
        }
        for call in self.calls_mut() {
            for argument in &mut call.arguments {
                *argument = with(*argument);
            }
        }
    }
}

impl Kernel {
    /// Work-items of a sub-group, if the kernel requires a size: a number, or the half or full size of a device, or of the
    /// devices that have two sizes.
    pub fn sub_group_size(&self, device: Option<&OpenCl>) -> Option<u32> {
        let sizes = || {
            let own = device.and_then(|device| device.sub_group_sizes);
            own.or_else(tripipe_device::opencl::usual_sub_group_sizes)
        };
        self.required_sub_group_size.or_else(|| {
            let [half, full] = sizes()?;
            Some(match self.required_sub_group_share? {
                SubGroupShare::Half => half,
                SubGroupShare::Full => full,
            })
        })
    }

    /// Whether the size of the work-groups can change what it computes.
    pub fn depends_on_groups(&self) -> bool {
        use crate::op::QueryKind as Query;
        let is_local =
            |kind: &ParameterKind| matches!(kind, ParameterKind::Pointer { space: Space::Local, .. });
        self.objects.values().any(|object| object.space == Space::Local)
            || self.parameters.iter().any(|parameter| is_local(&parameter.kind))
            || self.insts.values().any(|inst| match &inst.op {
                Op::Barrier { .. } | Op::AsyncCopy { .. } | Op::WaitEvents { .. } | Op::Group(_) => true,
                Op::Query(query) => !matches!(
                    query.kind,
                    Query::GlobalId
                        | Query::GlobalSize
                        | Query::GlobalOffset
                        | Query::WorkDim
                        | Query::GlobalLinearId
                ),
                _ => false,
            })
    }

    /// The entry block.
    pub const ENTRY: Block = crate::entity::entry();

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// The first instruction with an operand or a result of `double`, if there is one.
    pub fn first_double(&self) -> Option<Inst> {
        let is_double = |value: &Value| self.ty(*value).scalar() == Some(crate::Scalar::F64);
        let mut insts = self.blocks.values().flat_map(|data| data.insts.iter().copied());
        insts.find(|inst| {
            let inst = &self.insts[*inst];
            inst.result.iter().chain(&inst.operands).any(is_double)
        })
    }

    /// Bits of each lane, if the value is a constant.
    pub fn constant(&self, value: Value) -> Option<&[u64]> {
        match &self.values[value].def {
            ValueDef::Constant(lanes) => Some(lanes),
            _ => None,
        }
    }

    /// Bits of a scalar or pointer constant.
    pub fn scalar_constant(&self, value: Value) -> Option<u64> {
        match self.constant(value) {
            Some([bits]) => Some(*bits),
            _ => None,
        }
    }

    /// A scalar integer constant, sign extended.
    pub fn signed_constant(&self, value: Value) -> Option<i64> {
        let bits = self.scalar_constant(value)?;
        let Type::Scalar(scalar) = self.ty(value) else { return None };
        scalar.is_int().then(|| scalar.to_i64(bits))
    }

    /// The instruction that defines a value, if there is one.
    pub fn defining(&self, value: Value) -> Option<Inst> {
        match self.values[value].def {
            ValueDef::Result(inst) => Some(inst),
            _ => None,
        }
    }

    /// The value that a pointer is computed from by addresses and casts of its space: an argument, the address of an
    /// object, a pointer from memory.
    pub fn pointer_base(&self, mut pointer: Value) -> Value {
        while let Some(inst) = self.defining(pointer)
            && let Op::Address(_) | Op::SpaceCast { .. } = self.insts[inst].op
            && let Some(base) = self.insts[inst].operands.first()
        {
            pointer = *base;
        }
        pointer
    }

    /// The constant of this type; `lanes` has one entry per lane, truncated to the type's width.
    pub(crate) fn make_constant(&mut self, ty: Type, lanes: &[u64]) -> Value {
        let mask = ty.scalar().map_or(u64::MAX, crate::Scalar::mask);
        let lanes: Box<[u64]> = lanes.iter().map(|lane| lane & mask).collect();
        let key = (ty, lanes);
        if let Some(value) = self.interned.get(&key) {
            return *value;
        }
        let value = self.values.push(ValueData { ty, def: ValueDef::Constant(key.1.clone()) });
        self.interned.insert(key, value);
        value
    }

    /// A scalar constant, or a vector constant with the same value in every lane.
    pub(crate) fn splat_constant(&mut self, ty: Type, bits: u64) -> Value {
        self.make_constant(ty, &vec![bits; usize::from(ty.lanes())])
    }

    /// Creates an instruction that is not in a block yet.
    pub(crate) fn make_inst(
        &mut self,
        op: Op,
        operands: &[Value],
        result: Option<Type>,
        location: Option<Location>,
    ) -> Inst {
        let inst = self.insts.next_key();
        let result = result.map(|ty| self.values.push(ValueData { ty, def: ValueDef::Result(inst) }));
        self.insts.push(Instruction {
            op,
            flags: Flags::default(),
            operands: SmallVec::from_slice(operands),
            result,
            location,
        })
    }

    /// Adds a parameter to a block; calls of the block must be extended to match.
    pub(crate) fn add_parameter(&mut self, block: Block, ty: Type) -> Value {
        let position = self.blocks[block].parameters.len() as u32;
        let value = self.values.push(ValueData { ty, def: ValueDef::Parameter(block, position) });
        self.blocks[block].parameters.push(value);
        value
    }

    /// The location in the function that contains the code: the innermost one with a line.
    pub fn own_location(&self, mut location: Location) -> LocationData {
        while self.locations[location].line == 0
            && let Some(outer) = self.locations[location].inlined_at
        {
            location = outer;
        }
        self.locations[location]
    }

    /// The line of the kernel's own code that calls the function which contains a location; `None` for the kernel's own
    /// code.
    pub fn called_from(&self, location: Location) -> Option<LocationData> {
        let outermost = self.outermost(location);
        (outermost.line > 0 && outermost != self.own_location(location)).then_some(outermost)
    }

    /// The outermost location: the line of the kernel's own code that a location was inlined into.
    pub fn outermost(&self, mut location: Location) -> LocationData {
        while let Some(outer) = self.locations[location].inlined_at {
            location = outer;
        }
        self.locations[location]
    }
}
