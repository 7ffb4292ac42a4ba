//! Addresses that differ by a constant share one register, and neighbouring loads become one.
//!
//! The front end leaves each address as an expression of its own: `a[4 * i]` and `a[4 * i + 1]` are two sums. A compiler
//! computes the first one and gives the difference to the load as a constant.

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use tripipe_ir::flow::linear::{Base, LinearForms};
use tripipe_ir::flow::{Atom, Cfg, Dominators};
use tripipe_ir::op::Address;
use tripipe_ir::{Block, Inst, Kernel, Op, ParameterKind, Scalar, Space, Type, Value, ValueDef};

use crate::model::RegisterLayout;

/// Everything of an address but its constant: the base, and the terms with their factors.
type Sum = (Base, Vec<(Atom, i64)>);

/// An address that was computed before: the block, the pointer, its constant.
type ComputedAddress = (Block, Value, i64);

/// Addresses that were computed before, by sum.
type ComputedAddresses = HashMap<Sum, SmallVec<[ComputedAddress; 2]>>;

/// A load: its instruction, the constant of its address, its lanes.
type Loaded = (Inst, i64, u32);

/// Loads since the last write, by address and type.
type OpenLoads = HashMap<(Sum, Scalar), Vec<Loaded>>;

/// Rewrites addresses that are a constant away from an earlier one as that one and the constant.
pub(crate) fn share(kernel: &mut Kernel, cfg: &Cfg, dominators: &Dominators, forms: &LinearForms) {
    let mut known = ComputedAddresses::new();
    for block in &cfg.order {
        for inst in kernel.blocks[*block].insts.clone() {
            let data = &kernel.insts[inst];
            let (Op::Address(address), Some(result)) = (data.op, data.result) else { continue };
            let (base, offset) = forms.address(kernel, result);
            if offset.terms.is_empty() {
                continue;
            }
            let constant = offset.constant;
            let same = known.entry((base, offset.terms.into_iter().collect())).or_default();
            let earlier =
                same.iter().find(|(at, ..)| at == block || dominators.dominates(*at, *block)).copied();
            match earlier.and_then(|(_, value, from)| Some((value, constant.checked_sub(from)?))) {
                Some((value, offset)) if address.stride != 0 => {
                    let data = &mut kernel.insts[inst];
                    data.op = Op::Address(Address { stride: 0, offset, count: None, ..address });
                    data.operands = [value].into_iter().collect();
                }
                Some(_) => {}
                None => same.push((*block, result, constant)),
            }
        }
    }
}

/// The part of a joined load that an instruction stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinedPart {
    /// It loads for all of them.
    First {
        /// Lanes that are loaded.
        lanes: u32,
        /// The first of its own lanes.
        lane: u32,
        /// The load with the lowest address, where the access begins.
        lowest: Inst,
    },
    /// Its lanes come from an earlier load.
    Part {
        /// That load.
        first: Inst,
        /// The first of its own lanes.
        lane: u32,
    },
}

/// The joined loads of a kernel.
pub(crate) type JoinedLoads = SecondaryMap<Inst, Option<JoinedPart>>;

/// The joined stores of a kernel: the last one stores for all, which it lists in the order of addresses; the others
/// have an empty list.
pub(crate) type JoinedStores = SecondaryMap<Inst, Option<Box<[Inst]>>>;

/// Finds neighbouring loads of one block that one load can do: no write between them, and an address that is known to
/// be aligned to their size, or [few enough lanes](RegisterLayout::unaligned_elements).
pub(crate) fn joins(kernel: &Kernel, cfg: &Cfg, forms: &LinearForms, layout: &RegisterLayout) -> JoinedLoads {
    let mut found = SecondaryMap::new();
    for block in &cfg.order {
        let mut open = OpenLoads::new();
        let mut order: Vec<(Sum, Scalar)> = Vec::new();
        let mut close = |open: &mut OpenLoads, order: &mut Vec<_>, written: Option<Space>| {
            order.retain(|key: &(Sum, Scalar)| {
                let apart = written.is_some_and(|space| is_apart(kernel, key.0.0, space));
                if !apart && let Some(loads) = open.remove(key) {
                    join(kernel, layout, key, loads, &mut found);
                }
                apart
            });
        };
        for inst in &kernel.blocks[*block].insts {
            let data = &kernel.insts[*inst];
            match (data.op, data.result) {
                (Op::Load(access), Some(result)) if !access.volatile => {
                    let ty = kernel.ty(result);
                    let Some(scalar) = ty.scalar().filter(|scalar| *scalar != Scalar::Bool) else { continue };
                    let (base, offset) = forms.address(kernel, data.operands[0]);
                    let key = ((base, offset.terms.into_iter().collect::<Vec<_>>()), scalar);
                    let loads = open.entry(key.clone()).or_default();
                    if loads.is_empty() {
                        order.push(key);
                    }
                    loads.push((*inst, offset.constant, u32::from(ty.lanes())));
                }
                (Op::Store(_), _) => {
                    let space = match kernel.ty(data.operands[0]) {
                        Type::Pointer(space) => Some(space),
                        _ => None,
                    };
                    close(&mut open, &mut order, space);
                }
                (op, _) if op.has_effect() => close(&mut open, &mut order, None),
                _ => {}
            }
        }
        close(&mut open, &mut order, None);
    }
    found
}

/// Whether a store to a space leaves what is behind a base as it is.
fn is_apart(kernel: &Kernel, base: Base, written: Space) -> bool {
    let space = match base {
        Base::Value(value) => match kernel.ty(value) {
            Type::Pointer(space) => space,
            _ => return false,
        },
        Base::Object(object) => kernel.objects[object].space,
        Base::Program(_) => Space::Constant,
    };
    space != written && space != Space::Generic && written != Space::Generic
}

/// Joins loads of one address that differ by constants.
fn join(
    kernel: &Kernel,
    layout: &RegisterLayout,
    ((base, terms), scalar): &(Sum, Scalar),
    mut loads: Vec<Loaded>,
    found: &mut JoinedLoads,
) {
    if loads.len() < 2 {
        return;
    }
    let bytes = i64::from(scalar.bits() / 8);
    let fits = |lanes, start| layout.joins(lanes, *scalar, start, known_align(kernel, *base, terms, layout));
    let places: HashMap<Inst, usize> = loads.iter().enumerate().map(|(at, load)| (load.0, at)).collect();
    loads.sort_by_key(|load| (load.1, load.2));
    for run in runs(&loads, bytes, fits) {
        let (lowest, start, _) = run[0];
        let lanes = run.iter().map(|load| load.2).sum();
        // The load that comes first in the program stands for all of them.
        if let Some(first) = run.iter().min_by_key(|load| places[&load.0]) {
            for load in run {
                let lane = ((load.1 - start) / bytes) as u32;
                found[load.0] = Some(if load.0 == first.0 {
                    JoinedPart::First { lanes, lane, lowest }
                } else {
                    JoinedPart::Part { first: first.0, lane }
                });
            }
        }
    }
}

/// Runs of at least two neighbours, as long as `fits` accepts their lanes and the constant of the first one. Accesses
/// are in the order of addresses.
fn runs(all: &[Loaded], bytes: i64, fits: impl Fn(u32, i64) -> bool) -> Vec<&[Loaded]> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let start = all[at].1;
        let (mut lanes, mut end, mut best) = (0, at, at + 1);
        while end < all.len() && all[end].1 == start + i64::from(lanes) * bytes {
            lanes += all[end].2;
            end += 1;
            if fits(lanes, start) {
                best = end;
            }
        }
        if best > at + 1 {
            found.push(&all[at..best]);
        }
        at = best.max(at + 1);
    }
    found
}

/// Finds neighbouring stores of one block that one store can do: nothing between them that may access the same memory.
pub(crate) fn joined_stores(
    kernel: &Kernel,
    cfg: &Cfg,
    forms: &LinearForms,
    layout: &RegisterLayout,
) -> JoinedStores {
    let mut found = JoinedStores::new();
    for block in &cfg.order {
        // Stores of one address and type, in the program's order.
        let mut open: Option<((Sum, Scalar), Vec<Loaded>)> = None;
        let mut close = |open: &mut Option<((Sum, Scalar), Vec<Loaded>)>| {
            let Some((((base, terms), scalar), mut stores)) = open.take() else { return };
            let places: HashMap<Inst, usize> =
                stores.iter().enumerate().map(|(at, store)| (store.0, at)).collect();
            stores.sort_by_key(|store| (store.1, store.2));
            let fits =
                |lanes, start| layout.joins(lanes, scalar, start, known_align(kernel, base, &terms, layout));
            for run in runs(&stores, i64::from(scalar.bits() / 8), fits) {
                for store in run {
                    found[store.0] = Some(Box::default());
                }
                if let Some(last) = run.iter().max_by_key(|store| places[&store.0]) {
                    found[last.0] = Some(run.iter().map(|store| store.0).collect());
                }
            }
        };
        for inst in &kernel.blocks[*block].insts {
            let data = &kernel.insts[*inst];
            match data.op {
                Op::Store(access) if !access.volatile => {
                    let ty = kernel.ty(data.operands[1]);
                    let Some(scalar) = ty.scalar().filter(|scalar| *scalar != Scalar::Bool) else {
                        close(&mut open);
                        continue;
                    };
                    let (base, offset) = forms.address(kernel, data.operands[0]);
                    let key = ((base, offset.terms.into_iter().collect::<Vec<_>>()), scalar);
                    let store = (*inst, offset.constant, u32::from(ty.lanes()));
                    let end = |store: &Loaded| store.1 + i64::from(store.2 * scalar.bits() / 8);
                    let apart = |other: &Loaded| end(other) <= store.1 || end(&store) <= other.1;
                    match &mut open {
                        Some((known, stores)) if *known == key && stores.iter().all(apart) => {
                            stores.push(store);
                        }
                        _ => {
                            close(&mut open);
                            open = Some((key, vec![store]));
                        }
                    }
                }
                Op::Load(_) => {
                    let read = match kernel.ty(data.operands[0]) {
                        Type::Pointer(space) => space,
                        _ => Space::Generic,
                    };
                    if open.as_ref().is_some_and(|(((base, _), _), _)| !is_apart(kernel, *base, read)) {
                        close(&mut open);
                    }
                }
                op if op.has_effect() => close(&mut open),
                _ => {}
            }
        }
        close(&mut open);
    }
    found
}

/// The largest power of two that divides an address, without its constant.
fn known_align(kernel: &Kernel, base: Base, terms: &[(Atom, i64)], layout: &RegisterLayout) -> i64 {
    terms.iter().fold(base_align(kernel, base, layout), |align, (_, factor)| {
        align.min(1 << factor.trailing_zeros().min(30))
    })
}

/// The alignment of what an address starts from. The compiler places objects itself, as its widest access needs.
fn base_align(kernel: &Kernel, base: Base, layout: &RegisterLayout) -> i64 {
    let align = match base {
        Base::Object(object) => kernel.objects[object].align.max(layout.access_bits / 8),
        Base::Program(_) => layout.access_bits / 8,
        Base::Value(value) => match kernel.values[value].def {
            ValueDef::Parameter(Kernel::ENTRY, position) => {
                match kernel.parameters.get(position as usize).map(|parameter| &parameter.kind) {
                    Some(ParameterKind::Pointer { align, .. }) => *align,
                    _ => 1,
                }
            }
            _ => 1,
        },
    };
    i64::from(align.max(1))
}
