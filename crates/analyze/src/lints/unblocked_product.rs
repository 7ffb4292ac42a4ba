//! `unblocked-product`: each value that a product loads is used once.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::{Loop, MemoryFact};
use tripipe_ir::op::{Binary, Builtin};
use tripipe_ir::{Inst, Op, Value};

use super::context::{Advice, Context};
use super::outputs::{Movement, work_in_groups};

/// Outputs in each of two dimensions that a work-item computes after the change.
const TILE: u64 = 4;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "unblocked-product",
    severity: Severity::Warning,
    title: "a product that loads every factor again for each output",
    what: "
A loop that multiplies values of two buffers, one of which depends on one id of the work-item and the other on another id,
with at least as many loaded values as multiplications: a matrix product with one output per work-item.",
    why: "
Each multiplication needs two loads, and a load costs a slot of the load/store pipe, as the multiplication costs one of the
arithmetic pipe. A work-item that computes 4 x 4 outputs uses each of 8 loaded values four times, and the loop's counter and
addresses serve 16 outputs.",
    example: "
float sum = 0;
for (int i = 0; i < k; ++i)
    sum += a[y * k + i] * b[i * n + x];
c[y * n + x] = sum;",
    instead: "
float4 sum[4] = {0, 0, 0, 0};
for (int i = 0; i < k; ++i) {
    const float4 column = vload4(0, a + i * m + 4 * y), row = vload4(0, b + i * n + 4 * x);  // A is transposed
    sum[0] += column.x * row;
    sum[1] += column.y * row;
    sum[2] += column.z * row;
    sum[3] += column.w * row;
}",
    exceptions: "
For small products: a sixteenth of the work-items must still fill the GPU. The sums need 16 registers of 32 bits.",
    source: "
- The published product of half matrices of 1024: 4 x 4 outputs in a work-item are 17 times faster on a Mali-G77.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if work_in_groups(context) {
        return;
    }
    let facts = context.facts.memory();
    let loops = context.facts.loops();
    let innermost = loops.all.iter().enumerate().filter(|(at, _)| {
        let at = Some(*at);
        loops.all.iter().all(|other| other.outer != at)
    });
    for (_, each) in innermost {
        let inside: Vec<&MemoryFact> =
            facts.iter().filter(|fact| !fact.writes && each.blocks.contains(&fact.block)).collect();
        let Some(product) = FactorLoop::of(context, each, &inside) else { continue };
        let stored = facts.iter().filter(|fact| fact.writes).map(|fact| Movement::of(context, fact));
        let [p, q] = product.dimensions;
        if !stored.clone().all(|movement| movement.depends(p) && movement.depends(q)) || stored.count() == 0 {
            continue;
        }
        let name = |fact: &MemoryFact| {
            context.access(fact.inst).map_or("memory", |access| access.name(context.kernel)).to_owned()
        };
        let (a, b) = (name(product.factors[0][0]), name(product.factors[1][0]));
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[product.multiplication].location,
            message: format!(
                "{} for {} of `{a}` and `{b}`: each value is used once",
                counted(product.multiplied as usize, "multiplication"),
                counted(product.loaded as usize, "loaded value")
            ),
            fix: format!(
                "Compute {TILE} x {TILE} outputs in a work-item, so that each loaded value is used {TILE} times, and \
                launch 1/{TILE} of the work-items in dimensions {p} and {q}."
            ),
            gain: None,
        });
    }
}

/// A loop that multiplies values of two buffers.
struct FactorLoop<'f> {
    /// The loads of each factor.
    factors: [Vec<&'f MemoryFact>; 2],
    /// The dimension of the ids that each factor depends on.
    dimensions: [usize; 2],
    /// A multiplication.
    multiplication: Inst,
    /// Multiplied lanes of an iteration.
    multiplied: u32,
    /// Loaded lanes of an iteration.
    loaded: u32,
}

impl<'f> FactorLoop<'f> {
    fn of(context: &Context<'_>, each: &Loop, inside: &[&'f MemoryFact]) -> Option<Self> {
        let kernel = context.kernel;
        let mut product: Option<Self> = None;
        for inst in each.blocks.iter().flat_map(|block| &kernel.blocks[*block].insts) {
            let data = &kernel.insts[*inst];
            let multiplies = match data.op {
                Op::Binary(Binary::FMul | Binary::Mul) | Op::Dot(_) => true,
                Op::Builtin(builtin) => matches!(builtin, Builtin::Fma | Builtin::Mad | Builtin::Dot),
                _ => false,
            };
            if !multiplies || data.operands.len() < 2 {
                continue;
            }
            let loads = [0, 1].map(|at| loads_of(context, data.operands[at], inside));
            let ([Some(p), Some(q)], [a, b]) =
                (loads.each_ref().map(|loads| dimension(context, loads)), loads)
            else {
                continue;
            };
            if p == q {
                continue;
            }
            let lanes = u32::from(kernel.ty(data.operands[0]).lanes());
            match &mut product {
                None => {
                    product = Some(Self {
                        factors: [a, b],
                        dimensions: [p, q],
                        multiplication: *inst,
                        multiplied: lanes,
                        loaded: 0,
                    });
                }
                Some(product) => {
                    product.multiplied += lanes;
                    let [first, second] = &mut product.factors;
                    let (a, b) = if product.dimensions == [p, q] { (a, b) } else { (b, a) };
                    add(first, a);
                    add(second, b);
                }
            }
        }
        let mut product = product?;
        let lanes = |fact: &&MemoryFact| {
            kernel.insts[fact.inst].result.map_or(1, |result| u32::from(kernel.ty(result).lanes()))
        };
        product.loaded = product.factors.iter().flatten().map(lanes).sum();
        (product.multiplied <= product.loaded).then_some(product)
    }
}

fn add<'f>(all: &mut Vec<&'f MemoryFact>, more: Vec<&'f MemoryFact>) {
    for fact in more {
        if !all.iter().any(|known| known.inst == fact.inst) {
            all.push(fact);
        }
    }
}

/// The loads of a loop that a value consists of.
fn loads_of<'f>(context: &Context<'_>, value: Value, inside: &[&'f MemoryFact]) -> Vec<&'f MemoryFact> {
    let kernel = context.kernel;
    let (mut open, mut seen, mut found) = (vec![value], EntitySet::new(), Vec::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        let Some(inst) = kernel.defining(value) else { continue };
        let data = &kernel.insts[inst];
        match data.op {
            Op::Load(_) => found.extend(inside.iter().find(|fact| fact.inst == inst)),
            Op::Convert(_)
            | Op::Extract(_)
            | Op::Shuffle(_)
            | Op::Construct
            | Op::Bitcast
            | Op::Insert(_) => {
                open.extend(&data.operands);
            }
            _ => {}
        }
    }
    found
}

/// The only dimension of the ids that all loads depend on; `None` if there is no load, no dimension, or more than one.
fn dimension(context: &Context<'_>, loads: &[&MemoryFact]) -> Option<usize> {
    let mut only = None;
    for load in loads {
        let movement = Movement::of(context, load);
        let mut own = (0..3).filter(|dimension| movement.depends(*dimension));
        let first = own.next()?;
        if own.next().is_some() || only.is_some_and(|only| only != first) {
            return None;
        }
        only = Some(first);
    }
    only
}
