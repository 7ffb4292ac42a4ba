//! The result of the command: one for each kernel and GPU.

use tripipe_device::Gpu;
use tripipe_results::{self as results, ByName};
use tripipe_timing::{Prediction, Resource};

use super::{LocalBy, Predicted, Repriced, Simulated, Simulation, gain, head, limiter};

/// One result for each GPU.
pub fn results(simulation: &Simulation<'_>) -> Vec<results::Simulated> {
    simulation.gpus.iter().map(|each| one(simulation, each)).collect()
}

fn one(simulation: &Simulation<'_>, each: &Simulated) -> results::Simulated {
    match &each.outcome {
        Ok(predicted) => {
            results::Simulated::Prediction(Box::new(prediction(simulation, predicted, each.gpu)))
        }
        Err(error) => results::Simulated::Refusal(results::Refusal {
            version: results::Simulated::VERSION,
            gpu: each.gpu.name().to_owned(),
            family: each.gpu.family().id().to_owned(),
            kernel: simulation.kernel.to_owned(),
            program: simulation.program.to_owned(),
            global: simulation.global,
            guessed: simulation.guessed,
            left_out: simulation.left_out.to_vec(),
            // Null in JSON, so that a refusal has the fields of a prediction.
            local: (),
            seconds: (),
            error_band: (),
            cycles: (),
            limiter: (),
            error: error.clone(),
        }),
    }
}

/// The time and what limits it, without the details.
pub(crate) fn quick(predicted: &Predicted, gpu: &Gpu) -> results::QuickPrediction {
    let prediction = &predicted.prediction;
    results::QuickPrediction {
        local: prediction.local,
        seconds: prediction.seconds,
        error_band: prediction.error_band,
        cycles: prediction.cycles,
        limiter: limiter(prediction.limiter(), gpu).to_owned(),
        local_chosen_by: chooser(predicted.local_by).to_owned(),
        warning: super::text::over_limit(prediction),
    }
}

/// The shares of the time that the GPU's resources are busy, by their short names.
pub(crate) fn shares(prediction: &Prediction, gpu: &Gpu) -> ByName<f64> {
    let all = Resource::ALL.into_iter().zip(prediction.shares);
    let own = all.filter(|(resource, _)| super::limits::exists(*resource, gpu));
    own.map(|(resource, share)| (head(resource, gpu).to_owned(), share)).collect()
}

/// The instructions of a work-item that each arithmetic pipe executes at most in a second; a multiply-add is one.
fn pipes(gpu: &Gpu) -> ByName<f64> {
    let rates = &gpu.operations_per_clock_per_core;
    let pipes = [
        (Resource::Arithmetic, Some(&rates.fp32_fma)),
        (Resource::Convert, rates.convert.as_ref()),
        (Resource::Special, Some(&rates.special)),
    ];
    let own = pipes.into_iter().filter(|(resource, _)| super::limits::exists(*resource, gpu));
    // A multiply-add counts as two operations there.
    own.filter_map(|(resource, rate)| {
        Some((head(resource, gpu).to_owned(), gpu.operations_per_second(rate?.value) / 2.0))
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

fn prediction(simulation: &Simulation<'_>, predicted: &Predicted, gpu: &Gpu) -> results::Prediction {
    let Predicted { prediction, spill_bytes, local_by, counters, energy, what_if } = predicted;
    let traffic = &prediction.traffic;
    let counters = counters.as_ref();
    results::Prediction {
        version: results::Simulated::VERSION,
        gpu: gpu.name().to_owned(),
        family: gpu.family().id().to_owned(),
        kernel: simulation.kernel.to_owned(),
        program: simulation.program.to_owned(),
        global: simulation.global,
        guessed: simulation.guessed,
        left_out: simulation.left_out.to_vec(),
        local: prediction.local,
        seconds: prediction.seconds,
        error_band: prediction.error_band,
        cycles: prediction.cycles,
        limiter: limiter(prediction.limiter(), gpu).to_owned(),
        error: (),
        local_chosen_by: chooser(*local_by).to_owned(),
        shares: shares(prediction, gpu),
        occupancy: prediction.occupancy,
        registers: prediction.registers,
        warning: super::text::over_limit(prediction),
        register_bits: gpu.registers.width_bits.value,
        spill_bytes: *spill_bytes,
        threads: prediction.threads,
        max_threads: gpu.core.max_threads.value,
        launch_seconds: prediction.launch_seconds,
        watchdog_seconds: prediction.watchdog_seconds,
        groups: prediction.groups,
        played_groups: prediction.played,
        sampling_error: prediction.sampling_error,
        played_traffic: results::Traffic {
            l1_accesses: traffic.l1_accesses,
            l1_hits: traffic.l1_hits,
            texture_accesses: traffic.texture_accesses,
            texture_hits: traffic.texture_hits,
            l2_accesses: traffic.l2_accesses,
            l2_hits: traffic.l2_hits,
            dram_read_bytes: traffic.dram_read_bytes,
            dram_written_bytes: traffic.dram_written_bytes,
            tlb_misses: traffic.tlb_misses,
        },
        sentence: super::limits::verdict(prediction, gpu),
        peaks: Some(results::GpuPeaks {
            operations_per_second: gpu
                .operations_per_second(gpu.operations_per_clock_per_core.fp32_fma.value),
            dram_bytes_per_second: gpu.configuration.dram_gb_s_peak.value * 1e9,
            pipes: pipes(gpu),
        }),
        what_if: what_if.iter().map(|repriced| change(repriced, prediction, gpu)).collect(),
        activity: prediction
            .activity
            .as_ref()
            .map(|activity| super::activity::result(activity, gpu, simulation.program, simulation.source)),
        counters: counters
            .map_or_else(Vec::new, |all| all.counters.iter().map(crate::counters::counter).collect()),
        counters_of: counters.map(crate::counters::counters_of),
        missing_counters: counters.map(crate::counters::missing),
        graphics_counters: counters.map(|counters| counters.graphics),
        energy: energy.as_ref().map(super::energy::result),
    }
}

fn change(repriced: &Repriced, before: &Prediction, gpu: &Gpu) -> results::Change {
    let after = repriced.outcome.as_ref().ok();
    results::Change {
        local: after.map(|after| after.local),
        seconds: after.map(|after| after.seconds),
        error_band: after.and_then(|after| after.error_band),
        cycles: after.map(|after| after.cycles),
        limiter: after.map(|after| limiter(after.limiter(), gpu).to_owned()),
        error: repriced.outcome.as_ref().err().cloned(),
        gain: after.map(|after| gain(before, after)),
        results: repriced.results(before),
        change: repriced.change.clone(),
    }
}
