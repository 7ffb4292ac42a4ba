//! `int-where-short-holds`: arithmetic on 32 bits where 16 would do.

use cranelift_entity::EntitySet;
use tripipe_ir::Scalar;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_machine::Model;

use super::context::MOST_PRICES;
use super::context::{Advice, Context};
use super::retype::{Chain, chains, retype};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "int-where-short-holds",
    severity: Severity::Warning,
    title: "32-bit arithmetic where 16 bits would suffice",
    what: "
Arithmetic on `int` or `uint` whose operands come from 8 or 16 bits and whose values provably fit in `short` or
`ushort`.",
    why: "
A Midgard register holds eight lanes of 16 bits and four of 32; Bifrost and Valhall process two `short` for each
`int`; Adreno executes 16-bit instructions at twice the rate. Widening to 32 bits takes instructions as well.",
    example: "
int4 sum = convert_int4(vload4(0, p)) + convert_int4(vload4(0, p + width));
vstore4(convert_uchar4(sum >> 1), 0, out);",
    instead: "
short4 sum = convert_short4(vload4(0, p)) + convert_short4(vload4(0, p + width));
vstore4(convert_uchar4(sum >> (short)1), 0, out);",
    exceptions: "
Where loads bound the kernel: then keep it readable. The values do fit: their ranges follow from types, constants,
comparisons and the known parameters of the launch. C promotes scalars to `int` in every expression; the compiler
computes in 16 bits where the result is truncated to `short`.",
    source: "
- Arm OpenCL guides: use the narrowest type that holds the data. The published T604 ladder: 24.5 to 13.5 cycles by this alone.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let kernel = context.kernel;
    let chains = chains(context, Scalar::I32, 16, &EntitySet::new());
    let packs = Model::of(context.gpu).layout.register_bits > 0;
    let lanes = |chain: &Chain| {
        let results = chain.computes.iter().filter_map(|inst| kernel.insts[*inst].result);
        results.map(|value| kernel.ty(value).lanes()).max().unwrap_or(1)
    };
    // Where lanes share registers, a single lane costs the same at every width.
    let chains: Vec<&Chain> =
        chains.iter().filter(|chain| chain.is_widened(kernel) && !(packs && lanes(chain) == 1)).collect();
    // Chains of a loop that fit one type are one; where there are many, all that do.
    let home = |chain: &Chain| {
        let block = chain.values.iter().find_map(|value| context.facts.home(value))?;
        context.facts.loops().around(block)
    };
    let mut groups: Vec<Vec<&Chain>> = Vec::new();
    for chain in &chains {
        let same = |group: &&mut Vec<&Chain>| {
            let is_near =
                chains.len() > MOST_PRICES || home(chain).is_some() && home(chain) == home(group[0]);
            is_near && group[0].type_name(16) == chain.type_name(16)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(chain),
            None => groups.push(vec![chain]),
        }
    }
    for group in groups {
        let gain = context.gain_by(|kernel| {
            for chain in &group {
                retype(kernel, context.cfg, &chain.values, Scalar::I16);
            }
        });
        let Some(gain) = gain else { continue };
        let (name, lanes) = (group[0].type_name(16), lanes(group[0]));
        let fix = if lanes == 1 {
            format!("Declare them {name}, and cast what an expression promotes to int: abs(({name})(a - b)).")
        } else {
            format!("Convert the loaded values to {name}{lanes}, and compute in that type.")
        };
        let ranges = || group.iter().map(|chain| chain.range);
        found.push(Advice {
            rule: &RULE,
            location: group[0].computes.iter().find_map(|inst| kernel.insts[*inst].location),
            message: format!(
                "{} on 32-bit integers whose values ({} to {}) fit in {name}",
                counted(group.iter().map(|chain| chain.computes.len()).sum(), "operation"),
                ranges().map(|range| range.low).min().unwrap_or(0),
                ranges().map(|range| range.high).max().unwrap_or(0)
            ),
            fix,
            gain: Some(gain),
        });
    }
}
