//! Advice that is repeated: for several instructions of a line, or several lines of a loop.

use std::fmt::Write as _;

use tripipe_ir::Location;

use super::context::{Advice, Context, Effect, Gain};

/// Where advice counts once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AdviceScope {
    /// An innermost loop, by position.
    Loop(usize),
    /// A line outside loops.
    Line(u32),
}

/// Merges advice of a place that differs at most in its numbers, in order: the first remains, and says where the others
/// are.
pub(super) fn merge(context: &Context<'_>, all: Vec<Advice>) -> Vec<Advice> {
    let mut groups: Vec<(Advice, Vec<Advice>)> = Vec::new();
    for advice in all {
        let place = advice.location.map(|location| scope_at(context, location));
        let same = |other: &Advice| {
            place.is_some()
                && other.location.map(|location| scope_at(context, location)) == place
                && (other.rule.code, words(&other.message), &other.fix)
                    == (advice.rule.code, words(&advice.message), &advice.fix)
        };
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, others)) => others.push(advice),
            None => groups.push((advice, Vec::new())),
        }
    }
    groups.into_iter().map(|(first, others)| one(context, first, &others)).collect()
}

/// The first of several, with the gain of all.
fn one(context: &Context<'_>, mut first: Advice, others: &[Advice]) -> Advice {
    let line = |advice: &Advice| advice.location.map(|location| context.kernel.own_location(location).line);
    // Copies of one instruction, as of an unrolled loop, say nothing new.
    let mut lines: Vec<u32> = others
        .iter()
        .filter(|other| line(other) != line(&first) || other.message != first.message)
        .filter_map(line)
        .collect();
    lines.dedup();
    match &lines[..] {
        [] => {}
        [only] if Some(*only) == line(&first) => first.message.push_str(", and others of this line"),
        _ => {
            lines.sort_unstable();
            lines.dedup();
            lines.retain(|other| Some(*other) != line(&first));
            let shown: Vec<String> = lines.iter().map(u32::to_string).collect();
            let noun = if shown.len() == 1 { "line" } else { "lines" };
            let _ = write!(first.message, ", and more at {noun} {}", shown.join(", "));
        }
    }
    let gains: Vec<&Gain> = others.iter().filter_map(|other| other.gain.as_ref()).collect();
    let together = first.gain.as_ref().and_then(|own| context.gain_together(&[&[own][..], &gains].concat()));
    if let Some(gain) = &mut first.gain
        && let Some(Effect::Work(times)) = &mut gain.effect
    {
        let effects = gains.iter().filter_map(|gain| gain.effect.as_ref());
        for more in effects {
            if let Effect::Work(more) = more {
                times.extend(more.iter().copied());
            }
        }
        gain.cycles = together;
    }
    first
}

/// The innermost loop of the code at a location, or its line.
fn scope_at(context: &Context<'_>, location: Location) -> AdviceScope {
    let own = |location| context.kernel.own_location(location).line;
    let mut insts = context.instructions();
    let block = insts.find(|(_, inst)| context.kernel.insts[*inst].location == Some(location));
    let around = block.and_then(|(block, _)| context.facts.loops().around(block));
    around.map_or_else(|| AdviceScope::Line(own(location)), AdviceScope::Loop)
}

/// A message without its numbers.
fn words(message: &str) -> String {
    message.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
