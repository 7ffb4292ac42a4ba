//! Modules, kernels, blocks, instructions, memory objects.

use std::collections::HashMap;
use std::sync::Arc;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;

use crate::op::SubGroupShare;
use crate::{
    Block, File, Flags, Inst, Layout, Object, Op, Place, PlaceData, ProgramObject, Space, Type, Value,
};

/// What one SPIR-V module says.
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
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// A kernel, complete in itself.
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
    /// `intel_reqd_sub_group_size` and its like.
    pub required_sub_group_size: Option<u32>,
    /// `qcom_reqd_sub_group_size`: which of a GPU's two sizes, where it has two.
    pub required_sub_group_share: Option<SubGroupShare>,
    /// Values: parameters of blocks, results, constants.
    pub values: PrimaryMap<Value, ValueData>,
    /// Instructions.
    pub insts: PrimaryMap<Inst, Instruction>,
    /// Blocks. Block 0 is the entry; a loaded kernel has them in reverse postorder, none unreachable.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Private and local objects.
    pub objects: PrimaryMap<Object, ObjectData>,
    /// Source places.
    pub places: PrimaryMap<Place, PlaceData>,
    /// Formats of `printf`.
    pub formats: Vec<String>,
    /// Names the source gives to values, where the front end kept them.
    pub names: SecondaryMap<Value, Option<Arc<str>>>,
    /// Constants by content, so that equal ones are one value.
    pub(crate) interned: HashMap<(Type, Box<[u64]>), Value>,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, empty if unknown.
    pub name: String,
    /// The type as the source spells it, empty if unknown.
    pub type_name: String,
    /// What is passed.
    pub kind: ParameterKind,
}

/// What is passed for an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    /// A scalar, vector, image or sampler.
    Value(Type),
    /// A buffer, or for [`Space::Local`] so many bytes of local memory.
    Pointer {
        /// The address space.
        space: Space,
        /// What it points to, as far as the source says.
        pointee: Layout,
        /// What the source promises of its address.
        align: u32,
        /// Declared `const`: the kernel does not write through it.
        read_only: bool,
        /// Declared `restrict`.
        restrict: bool,
        /// Declared `volatile`.
        volatile: bool,
    },
    /// A struct by value: the bytes fill that private object; the entry's parameter is its address.
    Struct {
        /// The object.
        object: Object,
    },
}

/// A memory object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectData {
    /// The source's name, empty if unknown.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// What lies where; says the size.
    pub layout: Layout,
    /// What it holds at first.
    pub initial: Initial,
}

impl ObjectData {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }
}

/// What an object holds at first.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// Nothing anybody wrote.
    Unwritten,
    /// Zeros.
    Zero,
    /// These bytes, as many as the object has; at the relocations, addresses.
    Bytes {
        /// The bytes.
        bytes: Arc<[u8]>,
        /// Where addresses go.
        relocations: Arc<[Relocation]>,
    },
    /// The argument of that index.
    Argument(u32),
}

/// An address inside initial bytes: eight bytes at `offset` hold the address of `object` plus `addend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where, in bytes.
    pub offset: u64,
    /// Of what.
    pub object: ProgramObject,
    /// Bytes added.
    pub addend: i64,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: ValueDef,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Parameter of a block, by position.
    Parameter(Block, u32),
    /// Result of an instruction.
    Result(Inst),
    /// A constant: bits of each lane (floats as their encoding, pointers as the address, samplers as
    /// [`crate::op::SamplerBits`]).
    Constant(Box<[u64]>),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// What the source promises of it.
    pub flags: Flags,
    /// Operands; the operation's doc comment has their order.
    pub operands: SmallVec<[Value; 3]>,
    /// Its result.
    pub result: Option<Value>,
    /// Where it comes from; `None` if the front end did not say.
    pub place: Option<Place>,
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockData {
    /// Its parameters.
    pub parameters: Vec<Value>,
    /// Its instructions.
    pub insts: Vec<Inst>,
    /// How it ends.
    pub terminator: Terminator,
}

/// How a block ends, and where in the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terminator {
    /// What.
    pub kind: TerminatorKind,
    /// Where.
    pub place: Option<Place>,
}

/// A block to go to, and the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCall {
    /// Where to.
    pub block: Block,
    /// One value a parameter.
    pub arguments: Vec<Value>,
}

impl BlockCall {
    /// To a block, as yet without arguments.
    pub fn to(block: Block) -> Self {
        Self { block, arguments: Vec::new() }
    }
}

/// What a terminator does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TerminatorKind {
    /// Goes on.
    Jump(BlockCall),
    /// Goes on by a `bool`.
    Branch {
        /// Which way.
        condition: Value,
        /// If true.
        then: BlockCall,
        /// If false.
        otherwise: BlockCall,
    },
    /// Goes on by an integer.
    Switch {
        /// Which way.
        selector: Value,
        /// Distinct values and where they go, in the source's order.
        cases: Vec<(u64, BlockCall)>,
        /// Where all others go.
        default: BlockCall,
    },
    /// The work-item is done.
    Return,
    /// Does not happen, the source promises.
    #[default]
    Unreachable,
}

impl Terminator {
    /// Where it may go, in order.
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

    /// Where it may go, to be changed.
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

    /// The value that decides, if one does.
    pub fn decider(&self) -> Option<Value> {
        match &self.kind {
            TerminatorKind::Branch { condition, .. } => Some(*condition),
            TerminatorKind::Switch { selector, .. } => Some(*selector),
            _ => None,
        }
    }

    /// Every value it uses: the decider and all arguments.
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
    /// The entry block.
    pub const ENTRY: Block = crate::entity::entry();

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
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
        let unused = 64 - scalar.bits();
        scalar.is_int().then_some((bits << unused).cast_signed() >> unused)
    }

    /// The instruction that makes a value, if one does.
    pub fn defining(&self, value: Value) -> Option<Inst> {
        match self.values[value].def {
            ValueDef::Result(inst) => Some(inst),
            _ => None,
        }
    }

    /// The constant of that type; `lanes` has one entry a lane, cut to the type's width.
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

    /// A scalar constant, or the same in every lane of a vector.
    pub(crate) fn splat_constant(&mut self, ty: Type, bits: u64) -> Value {
        self.make_constant(ty, &vec![bits; usize::from(ty.lanes())])
    }

    /// Makes an instruction that is in no block yet.
    pub(crate) fn make_inst(
        &mut self,
        op: Op,
        operands: &[Value],
        result: Option<Type>,
        place: Option<Place>,
    ) -> Inst {
        let inst = self.insts.next_key();
        let result = result.map(|ty| self.values.push(ValueData { ty, def: ValueDef::Result(inst) }));
        self.insts.push(Instruction {
            op,
            flags: Flags::default(),
            operands: SmallVec::from_slice(operands),
            result,
            place,
        })
    }

    /// Adds a parameter to a block; its callers have to follow.
    pub(crate) fn add_parameter(&mut self, block: Block, ty: Type) -> Value {
        let position = self.blocks[block].parameters.len() as u32;
        let value = self.values.push(ValueData { ty, def: ValueDef::Parameter(block, position) });
        self.blocks[block].parameters.push(value);
        value
    }

    /// A place in the text of the function that the code is written in: the innermost one with a line.
    pub fn own_place(&self, mut place: Place) -> PlaceData {
        while self.places[place].line == 0
            && let Some(outer) = self.places[place].inlined_at
        {
            place = outer;
        }
        self.places[place]
    }

    /// The line of the kernel's own text that calls the function which a place is in; `None` for the kernel's own code.
    pub fn called_from(&self, place: Place) -> Option<PlaceData> {
        let outermost = self.outermost(place);
        (outermost.line > 0 && outermost != self.own_place(place)).then_some(outermost)
    }

    /// The outermost place: the line of the kernel's own text that a place was inlined into.
    pub fn outermost(&self, mut place: Place) -> PlaceData {
        while let Some(outer) = self.places[place].inlined_at {
            place = outer;
        }
        self.places[place]
    }
}
