//! The result of the command: one for each kernel and GPU.

use tripipe_analyze::{Advice, Analysis, Cycles, LoopCost, Polynomial, Stride, Trips, WarpAccess};
use tripipe_machine::Pipe;
use tripipe_results::{self as results, ByName, Cost, TripCount};

use super::{Priced, bound, by_hand};
use crate::simulation;

/// One result for each GPU.
pub fn results(priced: &Priced<'_>) -> Vec<results::Analysis> {
    priced.analyses.iter().enumerate().map(|(at, analysis)| one(priced, analysis, at)).collect()
}

fn one(priced: &Priced<'_>, analysis: &Analysis, at: usize) -> results::Analysis {
    let prediction = priced.predictions.get(at);
    let predicted = prediction.and_then(|prediction| prediction.as_ref().ok());
    let played = predicted.map(|predicted| &predicted.prediction);
    let family = analysis.gpu.family();
    let columns = |all: &[Polynomial]| -> ByName<Cost> {
        let heads = analysis.columns.iter().map(|column| column.head(family).to_owned());
        heads.zip(all.iter().map(cost_of)).collect()
    };
    let path = |cycles: &Cycles| results::PathCost {
        columns: columns(&cycles.columns),
        messages: cost_of(&cycles.messages),
        bound: bound(analysis, &cycles.bound),
    };
    let emitted = Pipe::ALL.iter().map(|pipe| (pipe_name(*pipe).to_owned(), analysis.emitted[pipe.index()]));
    let registers = &analysis.registers;
    let line = |line: &tripipe_analyze::LineCost| {
        let data = priced.kernel.own_location(line.location);
        results::Line {
            file: priced.module.files[data.file].to_string(),
            line: data.line,
            text: priced.text_of(line.location).to_owned(),
            columns: columns(&line.columns),
        }
    };
    results::Analysis {
        version: results::Analysis::VERSION,
        kernel: analysis.kernel.clone(),
        gpu: analysis.gpu.name().to_owned(),
        family: family.id().to_owned(),
        // A family issues to some of the pipes only.
        emitted: emitted.filter(|(_, count)| *count > 0).collect(),
        total: path(&analysis.total),
        shortest_path: path(&analysis.shortest),
        longest_path: path(&analysis.longest),
        longest_path_at_most: columns(&analysis.longest_at_most),
        registers: results::Registers {
            used: registers.work.used,
            needed: registers.work.needed,
            max: analysis.gpu.registers.max.value,
            width_bits: analysis.gpu.registers.width_bits.value,
            uniform: registers.uniform,
            spill_bytes: registers.work.spill_bytes,
            peak_line: registers.peak.map(|location| priced.line(location)),
            threads: registers.occupancy.threads,
            max_threads: registers.occupancy.most,
            next_step: registers.next_step.map(|(fewer, threads)| results::NextStep { fewer, threads }),
        },
        narrow_arithmetic: analysis.narrow_arithmetic,
        idle_lanes: analysis.idle_lanes,
        stack_bytes: analysis.stack_bytes,
        local_bytes: analysis.local_bytes,
        uniform_instructions: analysis.hoisted,
        loops: analysis
            .loops
            .iter()
            .map(|each| results::Loop { iteration: columns(&each.iteration), ..loop_of(priced, each) })
            .collect(),
        lines: analysis.lines.iter().map(line).collect(),
        accesses: analysis.accesses.iter().map(|access| access_of(priced, analysis, access)).collect(),
        images: analysis
            .images
            .iter()
            .map(|image| results::ImageUse {
                line: image.location.map(|location| priced.line(location)),
                image: image.image.clone(),
                writes: image.writes,
            })
            .collect(),
        program: priced.name.to_owned(),
        launch: analysis.launch.as_ref().map(|launch| results::LaunchBound {
            work_items: launch.items,
            milliseconds: played.map(|played| played.least_seconds() * 1e3),
            dram_bytes: launch.dram_bytes,
            busy: played.map_or_else(ByName::new, |played| simulation::shares(played, analysis.gpu)),
        }),
        prediction: predicted.map(|predicted| simulation::quick(predicted, analysis.gpu)),
        prediction_missing: prediction.and_then(|prediction| prediction.as_ref().err().cloned()),
        advice: analysis.advice.iter().map(|advice| advice_of(priced, advice)).collect(),
        left_out: analysis.left_out.clone(),
    }
}

/// The loop, without the cost of its iterations.
fn loop_of(priced: &Priced<'_>, each: &LoopCost) -> results::Loop {
    let mut result =
        results::Loop { line: loop_line(priced, each), depth: each.depth, ..results::Loop::default() };
    match &each.trips {
        Trips::Known(trips) => {
            (result.trips, result.least_trips) = (Some(TripCount::Number(*trips)), Some(*trips));
        }
        Trips::Between { least, most } => {
            (result.trips, result.least_trips) = (Some(TripCount::Number(*most)), Some(*least));
        }
        Trips::Follows { name, factor, constant } => {
            let times = Polynomial::constant(*factor).times_name(name).plus(&Polynomial::constant(*constant));
            result.trips = Some(TripCount::Symbolic(times.to_string()));
        }
        Trips::Unknown { symbol, follows_from } => {
            (result.symbol, result.follows_from) = (Some(symbol.to_string()), follows_from.clone());
        }
    }
    result
}

/// The first known line of a loop's header.
fn loop_line(priced: &Priced<'_>, each: &LoopCost) -> Option<u32> {
    let block = &priced.kernel.blocks[each.header];
    let locations = block.insts.iter().filter_map(|inst| priced.kernel.insts[*inst].location);
    locations.map(|location| priced.line(location)).filter(|line| *line > 0).min()
}

fn access_of(priced: &Priced<'_>, analysis: &Analysis, access: &WarpAccess) -> results::MemoryAccess {
    let constant = |stride: &Stride| match stride {
        Stride::Bytes(bytes) => Some(*bytes),
        _ => None,
    };
    results::MemoryAccess {
        file: access.location.map(|location| priced.file(location).to_owned()),
        line: access.location.map(|location| priced.line(location)),
        called_from: access.location.and_then(|location| priced.call_line(location)),
        memory: access.pointer.clone(),
        space: access.space.name().to_owned(),
        writes: access.writes,
        bytes: access.bytes,
        stride_bytes: constant(&access.stride),
        stride_argument: access.times.as_ref().map(|times| times.argument.clone()),
        lines_if_one: access.times.as_ref().map(|times| times.lines),
        iteration_stride_bytes: access.iteration.as_ref().and_then(constant),
        lines: access.lines,
        lines_known: access.lines_known,
        used: access.used,
        coalesced: access.is_coalesced(analysis.gpu),
        align: access.align,
    }
}

fn advice_of(priced: &Priced<'_>, advice: &Advice) -> results::Advice {
    let gain = advice.gain.as_ref();
    results::Advice {
        code: advice.rule.code.to_owned(),
        severity: advice.rule.severity.name().to_owned(),
        file: advice.location.map(|location| priced.file(location).to_owned()),
        line: advice.location.map(|location| priced.line(location)),
        called_from: advice.location.and_then(|location| priced.call_line(location)),
        message: advice.message.clone(),
        fix: advice.fix.clone(),
        gain: gain.and_then(|gain| gain.cycles),
        gain_together: gain.and_then(|gain| gain.together),
        seconds: gain.and_then(|gain| gain.seconds).map(|[_, after]| after),
        rewrite: advice.applied().map(|applied| results::AdviceRewrite {
            name: applied.code.to_owned(),
            title: applied.title.clone(),
            host: applied.host.clone(),
        }),
        by_hand: !by_hand(advice).is_empty(),
    }
}

/// A number, or a text such as `12 + 7 n`.
fn cost_of(cost: &Polynomial) -> Cost {
    cost.as_constant().map_or_else(|| Cost::Symbolic(cost.to_string()), Cost::Number)
}

fn pipe_name(pipe: Pipe) -> &'static str {
    match pipe {
        Pipe::Arithmetic => "arithmetic",
        Pipe::Fma => "fma",
        Pipe::Convert => "convert",
        Pipe::Special => "special",
        Pipe::LoadStore => "load_store",
        Pipe::Texture => "texture",
    }
}
