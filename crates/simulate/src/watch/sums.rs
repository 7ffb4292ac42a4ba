//! Sums that stop growing: what is added is lost because the sum has become too large for its type.
//!
//! Watched are additions in a loop whose result is an operand of the next iteration, while what they add does not
//! depend on the sum. That leaves out filters with feedback, whose errors fade, and compensated sums, which add what
//! was lost. An addition that loses at least a quarter of what it adds is recorded, with its rounding error; errors of
//! random sign cancel, those of a sum that stagnates do not.

use tripipe_ir::Op;
use tripipe_ir::op::Binary;

use super::findings::Occurrence;
use super::losses::Loss;
use super::rules;
use super::state::Watch;
use super::values::float_result;
use crate::execute::code::Inst;
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;

/// The share of what is added from which on an addition counts.
const COUNTS: f64 = 0.25;

/// Checks an addition of a sum.
pub(crate) fn sum(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = float_result(watch, s, i);
    let Some(sum) = watch.additions.get(&i.origin).copied() else { return goes_on };
    let data = &s.kernel.insts[i.origin];
    let Some(scalar) = data.result.and_then(|result| s.kernel.ty(result).scalar()) else { return goes_on };
    if !watch.checks.has(&rules::ACCURACY_LOST) {
        return goes_on;
    }
    let width = usize::from(i.width);
    let components = usize::from(i.components);
    for component in 0..components {
        for lane in lanes(if width == 1 { 1 } else { s.mask }) {
            let index = component * width + lane;
            let of = |slot: u32| scalar.to_f64(s.warp.rows.bits(slot, index, scalar.bytes()));
            let (before, result) = (of(i.args[sum]), of(i.out));
            let added = match data.op {
                Op::Binary(Binary::FSub) => -of(i.args[1]),
                Op::Binary(_) => of(i.args[1 - sum]),
                _ => of(i.args[0]) * of(i.args[1]),
            };
            // Exact but for the rounding of float64.
            let error = before + added - result;
            if error.is_finite() && error.abs() >= COUNTS * added.abs() && error != 0.0 {
                let losses = watch.sums.entry((s.warp.first_item, i.origin)).or_default();
                losses.resize(components * WIDTH, Loss::default());
                // A number that all work-items share is that of the first one.
                let lane = if width == 1 { s.mask.trailing_zeros() as usize % WIDTH } else { lane };
                losses[component * WIDTH + lane].note(before, added, result, error);
            }
        }
    }
    goes_on
}

/// Records the losses of a group that ends.
pub(crate) fn end_group(watch: &mut Watch, s: &State<'_>) {
    let mut all: Vec<_> = watch.sums.drain().collect();
    all.sort_unstable_by_key(|(key, _)| *key);
    for ((first_item, inst), losses) in all {
        for (index, mut loss) in losses.into_iter().enumerate() {
            loss.close();
            let Some((last, added, lost, additions)) = loss.worst else { continue };
            let lane = (index % WIDTH) as u64;
            watch.findings.note(&rules::ACCURACY_LOST, Some(inst), 1, || {
                let message = format!(
                    "the sum is {last} instead of {}: rounding lost a quarter or more of what {additions} additions \
                     add, such as {added:.3}",
                    (last + lost) as f32
                );
                let fix = "Sum in float, or in parts that stay small: a sum for each row, or for each work-item of a \
                    group.";
                Occurrence::new(&s.group, u64::from(first_item) + lane, message, fix)
            });
        }
    }
}
