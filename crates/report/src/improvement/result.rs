//! The result of the command.

use tripipe_improve::{Improvement, Price, Refusal, Target, Verified};
use tripipe_results::{Improved, ImprovementStep, RefusedRewrite};

use super::unified;
use crate::number::time;
use crate::simulation::limiter;

/// The result for some GPUs. `launch` is the text of the launch file after the last step, if the launch has changed.
pub fn result(improvement: &Improvement, targets: &[Target], launch: Option<String>) -> Improved {
    let original = &improvement.original;
    let program = original.launch.source.path();
    let source = &improvement.subject().source;
    let mut steps = Vec::new();
    let first = || targets.iter().zip(&improvement.prices);
    for (target, price) in first() {
        // Priced against itself, so that its speed-up is 1.
        steps.push(priced("original", target, price, price));
    }
    for step in &improvement.steps {
        for ((target, before), price) in first().zip(&step.prices) {
            let Verified { launches, values, whole, .. } = step.verified;
            steps.push(ImprovementStep {
                title: step.title.clone(),
                why: step.why.clone(),
                launches: launches as u64,
                values,
                given_launch: whole,
                relative_error: step.relative_error,
                ..priced(step.code, target, price, before)
            });
        }
    }
    let refused = improvement.refused.iter().map(|refused| RefusedRewrite {
        name: refused.code.to_owned(),
        title: refused.title.clone(),
        depth: refused.depth as u64,
        kind: match refused.reason {
            Refusal::Proof(_) => "wrong",
            Refusal::Slower { .. } => "slower",
            Refusal::Rounding { .. } => "rounding",
            Refusal::Late => "late",
            _ => "impossible",
        }
        .to_owned(),
        reason: refused.reason.to_string(),
    });
    let mut host: Vec<String> = improvement.host.iter().map(ToString::to_string).collect();
    if !host.is_empty() {
        let range = improvement.subject().launch.range;
        let shown = |sizes: [usize; 3]| {
            sizes[..range.dimensions()].iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
        };
        let local = range.local_size().map(|local| format!(" in work-groups of {}", shown(local)));
        let local = local.unwrap_or_default();
        host.push(format!("this launch becomes {} work-items{local}", shown(range.global_size())));
    }
    Improved {
        version: Improved::VERSION,
        kernel: original.kernel.clone(),
        program: program.to_owned(),
        gpus: targets.iter().map(|target| target.gpu.name().to_owned()).collect(),
        launches: 1,
        global: original.launch.range.global_size().map(|extent| extent as u64),
        steps,
        speedup: 1.0 / improvement.ratio(),
        conditions: improvement.conditions.iter().map(ToString::to_string).collect(),
        host,
        refused: refused.collect(),
        tried: improvement.tried as u64,
        out_of_time: improvement.out_of_time,
        is_rough: improvement.is_rough,
        notes: notes(improvement, targets),
        original: original.source.clone(),
        source: source.clone(),
        diff: unified(program, &original.source, source),
        launch,
    }
}

/// Where the launch takes longer than the kernel, which no rewrite of the kernel changes.
fn notes(improvement: &Improvement, targets: &[Target]) -> Vec<String> {
    let note = |(target, price): (&Target, &Price)| {
        (price.launch_seconds > price.seconds).then(|| {
            format!(
                "On a {} the host's launch takes {}, longer than the kernel's {}: what the kernel gains hardly matters. \
                 Do more in one launch, or fewer launches.",
                target.gpu.name(),
                time(price.launch_seconds),
                time(price.seconds)
            )
        })
    };
    targets.iter().zip(&improvement.prices).filter_map(note).collect()
}

pub(super) fn priced(name: &str, target: &Target, price: &Price, before: &Price) -> ImprovementStep {
    ImprovementStep {
        name: name.to_owned(),
        title: String::new(),
        why: String::new(),
        gpu: target.gpu.name().to_owned(),
        seconds: price.seconds,
        error_band: price.error_band,
        speedup: before.seconds / price.seconds,
        registers: price.registers,
        spill_bytes: price.spill_bytes,
        words: price.words as u64,
        limiter: limiter(price.limiter, target.gpu).to_owned(),
        local: price.local,
        verified: true,
        launches: 0,
        values: 0,
        given_launch: false,
        relative_error: 0.0,
    }
}
