//! Launch files with several launches: launches that are fused, and each kernel rewritten.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tripipe_device::Gpu;
use tripipe_improve::{
    ALL, Fused, HostChange, Improvement, Options, Pair, Pricing, Rewrite, Subject, Target, Verified,
    Verifier, fuse, search,
};
use tripipe_launch_file::{Entry, Given, Limits};
use tripipe_report::improvement::{self, LaunchLadder, LaunchPrice, taken};
use tripipe_results::Improved;

use super::{show, write_files};
use crate::launch_input::{LaunchFiles, Sequence};
use crate::progress::Progress;

/// The part of the time limit in which launches are fused.
const FUSING: f64 = 0.3;

/// The least time for a kernel.
const LEAST: Duration = Duration::from_secs(2);

/// What the steps of a list share.
struct ListSearch<'s> {
    targets: &'s [Target],
    pricing: Pricing<'s>,
    files: &'s LaunchFiles,
    options: &'s Options,
    end: Instant,
}

/// Fuses launches and rewrites kernels for some GPUs, and writes the result to `place`.
///
/// # Errors
/// A launch does not suit its kernel; the program does not compile; the result cannot be written.
pub(super) fn improve(
    sequence: &Sequence,
    gpus: &[&'static Gpu],
    options: &Options,
    place: Option<&Path>,
    progress: &Progress,
) -> Result<Improved> {
    let first = gpus.first().copied();
    let description = &sequence.description;
    let targets: Vec<Target> = gpus.iter().map(|gpu| description.target(gpu)).collect::<Result<_>>()?;
    let files = LaunchFiles::of(description);
    let steps = ListSearch {
        targets: &targets,
        pricing: Pricing::new(&targets, &files, None, options.limit_steps),
        files: &files,
        options,
        end: Instant::now() + options.limit,
    };
    // A file that cannot be read is the first thing to say.
    drop(sequence.load(&description.build(first)?, Limits::default(), false)?);
    let subjects = sequence.subjects(first)?;
    let launches = subjects.iter().zip(&sequence.launches.launches);
    let launches =
        launches.map(|(subject, launch)| steps.price(subject, launch.repeat)).collect::<Result<_>>()?;
    let source = subjects.first().map(|subject| subject.source.clone()).unwrap_or_default();
    let mut ladder = LaunchLadder::new(description.file.source.path(), &source, &targets, launches);
    let mut now = steps.fuse_all(sequence.clone(), first, &mut ladder, progress)?;
    steps.rewrite_all(&mut now, first, &mut ladder, progress)?;
    let changed = now.description.text().unwrap_or_default();
    let launch = (now.text != sequence.text).then(|| now.text_for(&changed, place)).transpose()?;
    write_files(place, &changed, launch.as_deref())?;
    Ok(ladder.finish(changed, launch))
}

impl ListSearch<'_> {
    fn price(&self, subject: &Subject, repeat: usize) -> Result<LaunchPrice> {
        let named = self.pricing.price(subject).into_iter().zip(self.targets);
        let prices = named.map(|(price, target)| {
            let about = || format!("`{}` on {}", subject.kernel, target.gpu.name());
            price.map_err(|error| anyhow::Error::new(error).context(about()))
        });
        let global = subject.launch.range.global_size().map(|extent| extent as u64);
        Ok(LaunchPrice {
            kernel: subject.kernel.clone(),
            global,
            repeat,
            prices: prices.collect::<Result<_>>()?,
        })
    }

    fn fuse_all(
        &self,
        mut now: Sequence,
        gpu: Option<&Gpu>,
        ladder: &mut LaunchLadder<'_>,
        progress: &Progress,
    ) -> Result<Sequence> {
        let end = Instant::now() + self.options.limit.mul_f64(FUSING);
        let mut at = 0;
        while at + 1 < now.launches.launches.len() && Instant::now() < end {
            let subjects = now.subjects(gpu)?;
            match self.fuse_at(&now, &subjects, at, ladder, progress)? {
                // The fused launch may be fused with the next one.
                Some(fused) => now = fused,
                None => at += 1,
            }
        }
        Ok(now)
    }

    /// The list with launches `at` and `at + 1` as one, if that is the same and gains.
    fn fuse_at(
        &self,
        now: &Sequence,
        subjects: &[Subject],
        at: usize,
        ladder: &mut LaunchLadder<'_>,
        progress: &Progress,
    ) -> Result<Option<Sequence>> {
        let ([first, second], list) = ([&subjects[at], &subjects[at + 1]], &now.launches);
        if [at, at + 1].iter().any(|launch| list.launches[*launch].repeat != 1) {
            let [first, second] = [first, second].map(|subject| &subject.kernel);
            ladder.note(format!("`{first}` and `{second}` stay two launches: one of them repeats."));
            return Ok(None);
        }
        if list.launches[at].queue != list.launches[at + 1].queue {
            let [first, second] = [first, second].map(|subject| &subject.kernel);
            ladder.note(format!("`{first}` and `{second}` stay two launches: they are in different queues."));
            return Ok(None);
        }
        let memory = |launch: usize| {
            let entries = list.launches[launch].file.arguments.iter().enumerate();
            let is_memory = |entry: &Entry| matches!(entry.given, Given::Memory(_));
            entries.filter(move |(_, entry)| is_memory(entry)).map(|(index, _)| index).collect::<Vec<_>>()
        };
        let mut shared = Vec::new();
        for own in memory(at) {
            let its = memory(at + 1).into_iter().find(|its| list.owner(at + 1, *its) == list.owner(at, own));
            shared.extend(its.map(|its| (own, its)));
        }
        let is_passing = |own: &usize| {
            let later = (at + 2..list.launches.len())
                .any(|later| memory(later).into_iter().any(|its| list.owner(later, its) == (at, *own)));
            let is_wanted = matches!(&list.launches[at].file.arguments[*own].given,
                Given::Memory(memory) if memory.dump.is_some() || memory.expect.is_some());
            list.owner(at, *own) == (at, *own) && !later && !is_wanted
        };
        let passing: Vec<usize> = shared.iter().map(|(own, _)| *own).filter(is_passing).collect();
        let offered = self.targets.first().map(|target| target.offered.clone());
        let Ok(tree) = first.tree(offered) else { return Ok(None) };
        if tree.check(&second.kernel).is_err() {
            return Ok(None);
        }
        let pair = Pair {
            launches: [(&first.kernel, &first.launch), (&second.kernel, &second.launch)],
            shared: &shared,
            passing: &passing,
        };
        let fused = match fuse(&tree, &pair) {
            Ok(fused) => fused,
            Err(reason) => {
                let [first, second] = [first, second].map(|subject| &subject.kernel);
                ladder.note(format!("`{first}` and `{second}` stay two launches: {reason}."));
                return Ok(None);
            }
        };
        progress.say(&format!("fusing `{}` and `{}`", first.kernel, second.kernel));
        let (source, dropped) = fused.shorter.clone().unwrap_or((fused.source.clone(), Vec::new()));
        let mut launch = fused.launch.clone();
        let mut index = 0..;
        launch.arguments.retain(|_| index.next().is_some_and(|index| !dropped.contains(&index)));
        let whole = Subject {
            source: fused.source.clone(),
            kernel: fused.kernel.clone(),
            launch: fused.launch.clone(),
            ..first.clone()
        };
        let shorter = Subject { source: source.clone(), launch, ..whole.clone() };
        let Ok(price) = self.price(&shorter, 1) else { return Ok(None) };
        let ratio = |(target, after): (usize, &tripipe_improve::Price)| {
            let two: f64 =
                ladder.launches()[at..at + 2].iter().map(|launch| taken(&launch.prices[target])).sum();
            taken(after) / two
        };
        let worst = price.prices.iter().enumerate().map(ratio).fold(0.0, f64::max);
        if worst * self.options.gain > 1.0 {
            ladder.note(format!(
                "`{}` and `{}` in one launch would take {worst:.2} times their time.",
                first.kernel, second.kernel
            ));
            return Ok(None);
        }
        let verified = match self.verified(&whole, &fused) {
            Ok(verified) => verified,
            Err(error) => {
                ladder
                    .note(format!("`{}` and `{}` stay two launches: {error}.", first.kernel, second.kernel));
                return Ok(None);
            }
        };
        let why = match &dropped[..] {
            [] if shared.is_empty() => "one launch instead of two".to_owned(),
            [] => "one launch instead of two, and what the second would load again is there".to_owned(),
            dropped => {
                let names = dropped.iter().filter_map(|it| fused.launch.arguments.get(*it)?.name.as_deref());
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                format!(
                    "one launch instead of two, and {} of `{}` passes in a register: its memory is not needed any more",
                    names.join(", "),
                    first.kernel
                )
            }
        };
        let next = match now.fused(at, &fused, source, &dropped) {
            Ok(next) => next,
            // A size in terms of an argument that the fused kernel does not have.
            Err(error) => {
                let [first, second] = [first, second].map(|subject| &subject.kernel);
                let why = crate::error_chain::chain(&error);
                ladder.note(format!(
                    "`{first}` and `{second}` stay two launches: in the new launch file, {why}."
                ));
                return Ok(None);
            }
        };
        let mut conditions = fused.conditions.clone();
        if !dropped.is_empty() {
            conditions.push("nothing else reads what passed between both".to_owned());
        }
        let named = |entry: &Entry| entry.name.clone().unwrap_or_default();
        let arguments: Vec<String> = shorter.launch.arguments.iter().map(named).collect();
        ladder.fuse(at, (price, &arguments), why, &verified, &conditions);
        Ok(Some(next))
    }

    fn verified(&self, whole: &Subject, fused: &Fused) -> Result<Verified> {
        let limit = self.options.limit.mul_f64(FUSING);
        let verifier = Verifier::of_calls(whole, &fused.calls, self.targets, self.files, limit)?;
        verifier.verify(whole, &[], &[], 0.0).map_err(|example| anyhow!("{example}"))
    }

    /// Rewrites the kernels, those that take longest first.
    fn rewrite_all(
        &self,
        now: &mut Sequence,
        gpu: Option<&Gpu>,
        ladder: &mut LaunchLadder<'_>,
        progress: &Progress,
    ) -> Result<()> {
        let mut kernels: Vec<String> = ladder.launches().iter().map(|launch| launch.kernel.clone()).collect();
        kernels.sort_by(|a, b| ladder.share(b).total_cmp(&ladder.share(a)));
        kernels.dedup();
        for (index, kernel) in kernels.iter().enumerate() {
            let left: f64 = kernels[index..].iter().map(|kernel| ladder.share(kernel)).sum();
            let time = self.end.saturating_duration_since(Instant::now());
            let limit =
                time.mul_f64((ladder.share(kernel) / left.max(f64::MIN_POSITIVE)).min(1.0)).max(LEAST);
            let options = Options { limit, ..self.options.clone() };
            let subjects = now.subjects(gpu)?;
            let longest = |at: &usize| {
                let launch = &ladder.launches()[*at];
                launch.repeat as f64 * launch.prices.first().map_or(0.0, taken)
            };
            let own: Vec<usize> = (0..subjects.len()).filter(|at| subjects[*at].kernel == *kernel).collect();
            let Some(at) = own.iter().copied().max_by(|a, b| longest(a).total_cmp(&longest(b))) else {
                continue;
            };
            let rewrites = rewrites(now, at, own.len() > 1);
            let mut shown = |step: tripipe_improve::Progress<'_>| show(progress, &step);
            let found = match search(&subjects[at], self.targets, &rewrites, self.files, &options, &mut shown)
            {
                Ok(found) => found,
                Err(error) => {
                    ladder.note(format!(
                        "`{kernel}` stays as it is: {}.",
                        crate::error_chain::chain(&error.into())
                    ));
                    continue;
                }
            };
            if let Some(said) = unfit(now, at, &own, &subjects, &found) {
                ladder.note(format!("`{kernel}` stays as it is: {said}."));
                continue;
            }
            *now = now.relaunched(kernel, &found.host, found.subject().source.clone())?;
            let prices: Vec<_> = found.steps.iter().map(|step| step.prices.clone()).collect();
            ladder.improve(improvement::result(&found, self.targets, None), &prices);
        }
        Ok(())
    }
}

/// The rewrites of a kernel of a list: not those that change memory which other launches use, or that hold for one launch
/// of `several` only.
fn rewrites(now: &Sequence, at: usize, several: bool) -> Vec<Rewrite> {
    let list = &now.launches;
    let others = (0..list.launches.len()).filter(|other| *other != at);
    let uses = |other: usize| {
        (0..list.launches[other].file.arguments.len()).map(move |argument| list.owner(other, argument))
    };
    let elsewhere: Vec<(usize, usize)> = others.flat_map(uses).collect();
    let count = list.launches[at].file.arguments.len();
    let is_shared = (0..count)
        .any(|argument| list.owner(at, argument) != (at, argument) || elsewhere.contains(&(at, argument)));
    let is_wanted = |rewrite: &&Rewrite| match rewrite.rule.code {
        "buffer-to-image" => !is_shared,
        "specialise-arguments" => !several,
        _ => true,
    };
    ALL.iter().filter(is_wanted).copied().collect()
}

/// Why a rewritten kernel does not suit the list.
fn unfit(
    now: &Sequence,
    at: usize,
    own: &[usize],
    subjects: &[Subject],
    found: &Improvement,
) -> Option<String> {
    let pads = found.host.iter().find_map(|change| match change {
        HostChange::Pad { argument, name, .. } if now.launches.owner(at, *argument) != (at, *argument) => {
            Some(name)
        }
        _ => None,
    });
    if let Some(name) = pads {
        return Some(format!("the faster kernel needs `{name}` longer, which another launch makes"));
    }
    let others = own.iter().filter(|other| **other != at);
    for other in others {
        let holds = |required: &&tripipe_improve::Required| {
            required.holds(&found.host, &subjects[*other].launch) == Some(false)
        };
        if let Some(required) = found.conditions.iter().find(holds) {
            return Some(format!(
                "the faster kernel needs that {required}, and another launch of it differs"
            ));
        }
    }
    None
}
