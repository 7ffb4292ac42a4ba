//! The counter of energy, with a stand-in for NVML whose launches take 0.25 J each.

use std::sync::Arc;

use tripipe_launch::{Launch, NdRange, Program, count_energy};
use tripipe_opencl::energy::EnergyCounter;
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor};

use crate::{child, stand_in};

/// Not a test by itself: the child processes run it.
#[test]
fn child() {
    if !child::is_child() {
        return;
    }
    let device = &tripipe_opencl::devices().unwrap()[0];
    let counter = match EnergyCounter::of(device) {
        Ok(counter) => counter,
        Err(reason) => return println!("outcome: {reason}"),
    };
    let options = ExecutorOptions::default().cache(CacheChoice::Off).energy(counter);
    let mut executor = OpenClExecutor::new(device, &options).unwrap();
    let launch = Launch {
        program: Arc::new(Program::from_source("f.cl", "kernel void f() {}\n")),
        entry: "f".to_owned(),
        arguments: vec![],
        range: NdRange::d1(1),
    };
    let twice = count_energy(&mut executor, &[launch.clone(), launch]).unwrap().unwrap();
    assert!(twice.seconds >= 1.0);
    assert!((twice.watts * twice.seconds / (twice.joules * twice.runs as f64) - 1.0).abs() < 1e-9);
    // Steps of the counter are 20 runs.
    assert!((twice.joules - 0.5).abs() < 0.5 * 20.0 / twice.runs as f64, "{twice:?}");
    println!("outcome: counted");
}

fn outcome(mode: &str, library: &std::path::Path) -> String {
    child::outcome("energy", |command| {
        command.env("TRIPIPE_OPENCL", stand_in::stand_in()).env("TRIPIPE_STAND_IN", mode);
        command.env("TRIPIPE_NVML", library);
    })
}

#[test]
fn launches_have_the_energy_that_the_driver_counts() {
    assert_eq!(outcome("energy", stand_in::stand_in()), "counted");
}

#[test]
fn a_device_without_a_counter_says_why() {
    let (sound, missing) = (stand_in::stand_in(), std::path::Path::new("/no/libnvidia-ml.so"));
    assert_eq!(outcome("sound", sound), "only NVIDIA's driver counts energy");
    assert!(outcome("no-energy", sound).contains("nvmlDeviceGetTotalEnergyConsumption: error 3"));
    let said = outcome("energy", missing);
    assert!(said.contains("/no/libnvidia-ml.so") && said.contains("TRIPIPE_NVML"), "{said}");
}
