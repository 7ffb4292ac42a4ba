//! JSON: one object per kernel and GPU.

use serde_json::{Map, Value, json};
use tripipe_device::Gpu;
use tripipe_timing::{Prediction, Resource};

use super::{LocalBy, Predicted, Simulated, Simulation, gain, head, limiter};

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 1;

/// One object per GPU.
pub fn json(simulation: &Simulation<'_>) -> Vec<Value> {
    simulation.gpus.iter().map(|each| one(simulation, each)).collect()
}

fn one(simulation: &Simulation<'_>, each: &Simulated) -> Value {
    let gpu = each.gpu;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        object.insert(key.to_owned(), value);
    };
    put("command", "simulate".into());
    put("version", VERSION.into());
    put("gpu", gpu.name().into());
    put("family", gpu.family().id().into());
    put("kernel", simulation.kernel.into());
    put("program", simulation.program.into());
    put("global", json!(simulation.global));
    put("guessed", simulation.guessed.into());
    put("left_out", json!(simulation.left_out));
    let times = match &each.outcome {
        Ok(predicted) => predicted_keys(simulation, predicted, gpu),
        Err(error) => {
            let missing = ["local", "seconds", "error_band", "cycles", "limiter"];
            let mut times: Map<String, Value> =
                missing.map(|key| (key.to_owned(), Value::Null)).into_iter().collect();
            times.insert("error".to_owned(), error.as_str().into());
            times
        }
    };
    object.extend(times);
    Value::Object(object)
}

/// The time and what limits it, without the details.
pub(crate) fn short(predicted: &Predicted, gpu: &Gpu) -> Map<String, Value> {
    let mut keys = times(&predicted.prediction, gpu);
    keys.remove("error");
    keys.insert("local_chosen_by".to_owned(), chooser(predicted.local_by).into());
    keys
}

/// The shares of the time that the GPU's resources are busy, by their short names.
pub(crate) fn shares(prediction: &Prediction, gpu: &Gpu) -> Map<String, Value> {
    let all = Resource::ALL.into_iter().zip(prediction.shares);
    let own = all.filter(|(resource, _)| super::limits::exists(*resource, gpu));
    own.map(|(resource, share)| (head(resource, gpu).to_owned(), share.into())).collect()
}

/// The instructions of a work-item that each arithmetic pipe executes at most in a second; a multiply-add is one.
fn pipes(gpu: &Gpu) -> Map<String, Value> {
    let rates = &gpu.operations_per_clock_per_core;
    let pipes = [
        (Resource::Arithmetic, Some(&rates.fp32_fma)),
        (Resource::Convert, rates.convert.as_ref()),
        (Resource::Special, Some(&rates.special)),
    ];
    pipes
        .into_iter()
        .filter(|(resource, _)| super::limits::exists(*resource, gpu))
        .filter_map(|(resource, rate)| {
            // A multiply-add counts as two operations there.
            let instructions = gpu.operations_per_second(rate?.value) / 2.0;
            Some((head(resource, gpu).to_owned(), instructions.into()))
        })
        .collect()
}

fn chooser(local_by: LocalBy) -> &'static str {
    match local_by {
        LocalBy::Launch => "launch",
        LocalBy::Kernel => "kernel",
        LocalBy::Driver => "driver",
    }
}

fn predicted_keys(simulation: &Simulation<'_>, predicted: &Predicted, gpu: &Gpu) -> Map<String, Value> {
    let Predicted { prediction, spill_bytes, local_by, counters, what_if } = predicted;
    let traffic = &prediction.traffic;
    let mut keys = times(prediction, gpu);
    let others = json!({
        "local_chosen_by": chooser(*local_by),
        "shares": shares(prediction, gpu),
        "occupancy": prediction.occupancy,
        "registers": prediction.registers,
        "register_bits": gpu.registers.width_bits.value,
        "spill_bytes": spill_bytes,
        "threads": prediction.threads,
        "max_threads": gpu.core.max_threads.value,
        "launch_seconds": prediction.launch_seconds,
        "watchdog_seconds": prediction.watchdog_seconds,
        "groups": prediction.groups,
        "played_groups": prediction.played,
        "sampling_error": prediction.sampling_error,
        "played_traffic": {
            "l1_accesses": traffic.l1_accesses,
            "l1_hits": traffic.l1_hits,
            "texture_accesses": traffic.texture_accesses,
            "texture_hits": traffic.texture_hits,
            "l2_accesses": traffic.l2_accesses,
            "l2_hits": traffic.l2_hits,
            "dram_read_bytes": traffic.dram_read_bytes,
            "dram_written_bytes": traffic.dram_written_bytes,
            "tlb_misses": traffic.tlb_misses,
        },
        "sentence": super::limits::verdict(prediction, gpu),
        "peaks": {
            "operations_per_second": gpu.operations_per_second(gpu.operations_per_clock_per_core.fp32_fma.value),
            "dram_bytes_per_second": gpu.configuration.dram_gb_s_peak.value * 1e9,
            "pipes": pipes(gpu),
        },
        "what_if": what_if.iter().map(|repriced| {
            let mut keys = match &repriced.outcome {
                Ok(after) => {
                    let mut keys = times(after, gpu);
                    keys.insert("gain".to_owned(), gain(prediction, after).into());
                    keys.insert("results".to_owned(), repriced.results(prediction).into());
                    keys
                }
                Err(error) => Map::from_iter([("error".to_owned(), Value::from(error.as_str()))]),
            };
            keys.insert("change".to_owned(), repriced.change.as_str().into());
            Value::Object(keys)
        }).collect::<Vec<_>>(),
    });
    if let Value::Object(others) = others {
        keys.extend(others);
    }
    if let Some(activity) = &prediction.activity {
        keys.insert(
            "activity".to_owned(),
            super::activity::json(activity, gpu, simulation.program, simulation.source),
        );
    }
    keys.extend(counters.iter().flat_map(crate::counters::keys));
    keys
}

/// What a time and a changed time have in common.
fn times(prediction: &Prediction, gpu: &Gpu) -> Map<String, Value> {
    let keys = [
        ("local", json!(prediction.local)),
        ("seconds", prediction.seconds.into()),
        ("error_band", json!(prediction.error_band)),
        ("cycles", prediction.cycles.into()),
        ("limiter", limiter(prediction.limiter(), gpu).into()),
        ("error", Value::Null),
    ];
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
