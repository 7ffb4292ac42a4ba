//! JSON: one object per kernel and GPU.

use serde_json::{Map, Value, json};
use tripipe_analyze::{Analysis, Cycles, LoopCost, Polynomial, Stride, Trips};
use tripipe_machine::Pipe;

use super::{Priced, bound};
use crate::simulation;

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 2;

/// One object per kernel and GPU.
pub fn json(priced: &Priced<'_>) -> Vec<Value> {
    priced.analyses.iter().enumerate().map(|(at, analysis)| one(priced, analysis, at)).collect()
}

fn one(priced: &Priced<'_>, analysis: &Analysis, at: usize) -> Value {
    let prediction = priced.predictions.get(at);
    let predicted = prediction.and_then(|prediction| prediction.as_ref().ok());
    let played = predicted.map(|predicted| &predicted.prediction);
    let family = analysis.gpu.family();
    let heads: Vec<&str> = analysis.columns.iter().map(|column| column.head(family)).collect();
    let columns = |all: &[Polynomial]| {
        Value::Object(
            heads
                .iter()
                .zip(all)
                .map(|(head, cost)| ((*head).to_owned(), cost_of(cost)))
                .collect::<Map<_, _>>(),
        )
    };
    let cycles = |cycles: &Cycles| {
        json!({
            "columns": columns(&cycles.columns),
            "messages": cost_of(&cycles.messages),
            "bound": bound(analysis, &cycles.bound),
        })
    };
    let emitted: Map<String, Value> = Pipe::ALL
        .iter()
        .filter(|pipe| analysis.emitted[pipe.index()] > 0)
        .map(|pipe| (pipe_name(*pipe).to_owned(), analysis.emitted[pipe.index()].into()))
        .collect();
    let called = |location| priced.kernel.called_from(location).map(|from| from.line);
    let registers = &analysis.registers;
    let loops: Vec<Value> = analysis
        .loops
        .iter()
        .map(|each| {
            let (trips, symbol, follows) = match &each.trips {
                Trips::Known(trips) | Trips::Between { most: trips, .. } => {
                    (json!(trips), Value::Null, Value::Null)
                }
                Trips::Follows { name, factor, constant } => {
                    let times =
                        Polynomial::constant(*factor).times_name(name).plus(&Polynomial::constant(*constant));
                    (json!(times.to_string()), Value::Null, Value::Null)
                }
                Trips::Unknown { symbol, follows_from } => {
                    (Value::Null, json!(&**symbol), json!(follows_from))
                }
            };
            let least = match each.trips {
                Trips::Between { least, .. } | Trips::Known(least) => json!(least),
                Trips::Follows { .. } | Trips::Unknown { .. } => Value::Null,
            };
            json!({
                "line": loop_line(priced, each),
                "depth": each.depth,
                "trips": trips,
                "least_trips": least,
                "symbol": symbol,
                "follows_from": follows,
                "iteration": columns(&each.iteration),
            })
        })
        .collect();
    let lines: Vec<Value> = analysis
        .lines
        .iter()
        .map(|line| {
            let data = priced.kernel.own_location(line.location);
            json!({
                "file": &*priced.module.files[data.file],
                "line": data.line,
                "text": priced.text_of(line.location),
                "columns": columns(&line.columns),
            })
        })
        .collect();
    let accesses: Vec<Value> = analysis
        .accesses
        .iter()
        .map(|access| {
            json!({
                "file": access.location.map(|location| priced.file(location)),
                "line": access.location.map(|location| priced.line(location)),
                "called_from": access.location.and_then(called),
                "memory": access.pointer,
                "space": access.space.name(),
                "writes": access.writes,
                "bytes": access.bytes,
                "stride_bytes": match access.stride { Stride::Bytes(bytes) => json!(bytes), _ => Value::Null },
                "stride_argument": access.times.as_ref().map(|times| &times.argument),
                "lines_if_one": access.times.as_ref().map(|times| times.lines),
                "iteration_stride_bytes": match access.iteration { Some(Stride::Bytes(bytes)) => json!(bytes), _ => Value::Null },
                "lines": access.lines,
                "lines_known": access.lines_known,
                "used": access.used,
                "coalesced": access.is_coalesced(analysis.gpu),
                "align": access.align,
            })
        })
        .collect();
    json!({
        "command": "analyze",
        "version": VERSION,
        "kernel": analysis.kernel,
        "gpu": analysis.gpu.name(),
        "family": family.id(),
        "emitted": emitted,
        "total": cycles(&analysis.total),
        "shortest_path": cycles(&analysis.shortest),
        "longest_path": cycles(&analysis.longest),
        "longest_path_at_most": columns(&analysis.longest_at_most),
        "registers": {
            "used": registers.work.used,
            "needed": registers.work.needed,
            "max": analysis.gpu.registers.max.value,
            "width_bits": analysis.gpu.registers.width_bits.value,
            "uniform": registers.uniform,
            "spill_bytes": registers.work.spill_bytes,
            "peak_line": registers.peak.map(|location| priced.line(location)),
            "threads": registers.occupancy.threads,
            "max_threads": registers.occupancy.most,
            "next_step": registers.next_step.map(|(fewer, threads)| json!({ "fewer": fewer, "threads": threads })),
        },
        "narrow_arithmetic": analysis.narrow_arithmetic,
        "idle_lanes": analysis.idle_lanes,
        "stack_bytes": analysis.stack_bytes,
        "local_bytes": analysis.local_bytes,
        "uniform_instructions": analysis.hoisted,
        "loops": loops,
        "lines": lines,
        "accesses": accesses,
        "images": analysis.images.iter().map(|image| json!({
            "line": image.location.map(|location| priced.line(location)),
            "image": image.image,
            "writes": image.writes,
        })).collect::<Vec<_>>(),
        "program": priced.name,
        "launch": analysis.launch.as_ref().map(|launch| json!({
            "work_items": launch.items,
            "milliseconds": played.map(|played| played.least_seconds() * 1e3),
            "dram_bytes": launch.dram_bytes,
            "busy": played.map_or_else(Map::new, |played| simulation::shares(played, analysis.gpu)),
        })),
        "prediction": predicted.map(|predicted| simulation::short_json(predicted, analysis.gpu)),
        "prediction_missing": prediction.and_then(|prediction| prediction.as_ref().err()),
        "advice": analysis.advice.iter().map(|advice| json!({
            "code": advice.rule.code,
            "severity": advice.rule.severity.name(),
            "file": advice.location.map(|location| priced.file(location)),
            "line": advice.location.map(|location| priced.line(location)),
            "called_from": advice.location.and_then(called),
            "message": advice.message,
            "fix": advice.fix,
            "gain": advice.gain.as_ref().and_then(|gain| gain.cycles),
            "gain_together": advice.gain.as_ref().and_then(|gain| gain.together),
            "seconds": advice.gain.as_ref().and_then(|gain| gain.seconds).map(|[_, after]| after),
        })).collect::<Vec<_>>(),
        "left_out": analysis.left_out,
    })
}

/// The first known line of a loop's header.
fn loop_line(priced: &Priced<'_>, each: &LoopCost) -> Option<u32> {
    let block = &priced.kernel.blocks[each.header];
    let locations = block.insts.iter().filter_map(|inst| priced.kernel.insts[*inst].location);
    locations.map(|location| priced.line(location)).filter(|line| *line > 0).min()
}

/// A number, or a string such as `12 + 7 n`.
fn cost_of(cost: &Polynomial) -> Value {
    cost.as_constant().map_or_else(|| cost.to_string().into(), Value::from)
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
