//! The ranking as the result of the command.

use tripipe_results::{Application, KernelLaunches};

use super::{RankedLaunch, Why};

/// The launches, the longest first.
pub fn result(why: &Why) -> Application {
    Application {
        version: Application::VERSION,
        gpu: why.gpu.name().to_owned(),
        seconds: why.seconds(),
        application_seconds: why.application_seconds(),
        launches: why.rows.iter().map(|ranked| row(why, ranked)).collect(),
        energy: why.energy_basis(),
        notes: why.notes.clone(),
    }
}

fn row(why: &Why, row: &RankedLaunch) -> KernelLaunches {
    let predicted = row.predicted.as_ref();
    KernelLaunches {
        kernel: row.kernel.clone(),
        file: row.file.clone(),
        global: row.global,
        launches: row.launches,
        seconds: row.seconds(),
        seconds_at_ceiling: row.at_ceiling(),
        application_gain_at_ceiling: why.gain_at_ceiling(row),
        application_gain_if_free: why.gain(row, 0.0),
        measured_launches: row.measured.map(|measured| measured.launches),
        measured_seconds: row.measured.map(|measured| measured.seconds),
        predicted_seconds: predicted.map(|predicted| predicted.seconds),
        predicted_band: predicted.and_then(|predicted| predicted.band),
        launch_seconds: predicted.map(|predicted| predicted.launch_seconds),
        limiter: predicted.map(|predicted| predicted.limiter.clone()),
        ceiling: predicted.map(|predicted| predicted.ceiling.0.clone()),
        of_ceiling: predicted.map(|predicted| predicted.ceiling.1),
        joules: row.energy().map(|energy| energy.joules),
        watts: row.energy().map(|energy| energy.watts),
        advice: row.advice.as_ref().map(|(advice, _)| advice.clone()),
        advice_saves: row.advice.as_ref().and_then(|(_, saves)| *saves),
    }
}
