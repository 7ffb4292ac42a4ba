//! Known defects of drivers in the library's own programs: none may have the pattern of one.

use std::collections::BTreeSet;

use tripipe_device::drivers::Driver;
use tripipe_simulate::drivers::DRIVER_HABIT;
use tripipe_simulate::{Options, Simulator};

use crate::compile::{library_plans, tools_are_there};

/// Versions that defects are known of, and later ones, of each maker whose drivers run OpenCL C.
const DRIVERS: [&str; 15] = [
    "E031.32",
    "E031.38",
    "E031.41",
    "E031.45",
    "E031.47",
    "r1p0",
    "r8p0",
    "r17p0",
    "r23p0",
    "r44p0",
    "1.13@5776728",
    "24.2@6603887",
    "PoCL 1.4",
    "PoCL 5.0",
    "Mesa 26.2",
];

/// What is worth knowing and no defect: the work-groups that products require may be slower on an Adreno, and halves
/// less accurate on an old GPU of Imagination.
const KNOWN: [&str; 2] = ["adreno-required-work-group", "powervr-half-accuracy"];

#[test]
fn no_library_program_has_a_known_defect() {
    if !tools_are_there() {
        return;
    }
    let drivers = DRIVERS.map(|version| Driver::read(version, None).unwrap());
    let mut simulator = Simulator::new(Options::default());
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    for plan in library_plans() {
        for launch in plan.preparation().iter().chain(plan.launches()) {
            let (program, entry) = (&launch.program, &launch.entry);
            if !seen.insert(format!("{} {entry} {}", program.name, program.build_options())) {
                continue;
            }
            for driver in &drivers {
                for finding in simulator.suspicions(program, entry, driver).unwrap().findings {
                    let known = KNOWN.iter().find(|id| finding.message.contains(&format!("`{id}`")));
                    let is_known = finding.rule == &DRIVER_HABIT && known.is_some();
                    assert!(is_known, "{entry} with {}: {}", driver.version, finding.message);
                    found.extend(known);
                }
            }
        }
    }
    assert!(seen.len() > 100, "{} kernels", seen.len());
    assert_eq!(found, BTreeSet::from(KNOWN), "what is listed above no longer occurs");
}
