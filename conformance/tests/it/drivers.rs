//! Known defects of drivers in the library's own programs and those of the ladders: none may have the pattern of one.

use std::collections::BTreeSet;

use tripipe_conformance::sizes::{Extent, sizes};
use tripipe_device::drivers::Driver;
use tripipe_ladders::Inputs;
use tripipe_ladders::catalog::ladders;
use tripipe_simulate::drivers::DRIVER_HABIT;
use tripipe_simulate::{Options, Simulator};

use crate::compile::{library_plans, tools_are_there};

/// Versions that defects are known of, and later ones, of each maker whose drivers run OpenCL C.
const DRIVERS: [&str; 16] = [
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
    "clspv",
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

/// What concerns the speed and the rounding of `fma()`.
const FMA: [&str; 2] = ["`clspv-slow-fma`", "`clvk-native-fma`"];

/// Ladders have slow steps by intent, but none that does not compile over Vulkan.
#[test]
fn no_step_of_a_ladder_has_what_clspv_does_not_take() {
    if !tools_are_there() {
        return;
    }
    let clspv = Driver::read("clspv", None).unwrap();
    let mut simulator = Simulator::new(Options::default());
    let probe = tripipe_device::find("Adreno 650").unwrap().expected_probe();
    for ladder in ladders().iter().flat_map(|ladder| [Some(ladder), ladder.published]).flatten() {
        for step in ladder.steps {
            // A step that is not offered for a size has one at another.
            let mut launches = 0;
            for size in sizes(ladder.size_kind, Extent::Small) {
                let problem = ladder.make_problem(size, &Inputs { photo: None, seed: 20 }).unwrap();
                for variant in (step.plan)(&problem, &probe).into_iter().flatten().take(1) {
                    for launch in variant.plan.preparation().iter().chain(variant.plan.launches()) {
                        let found = simulator.suspicions(&launch.program, &launch.entry, &clspv).unwrap();
                        let mut said: Vec<_> =
                            found.findings.iter().map(|finding| &finding.message).collect();
                        // That `fma()` is slow or rounds twice is known; it compiles.
                        said.retain(|message| !FMA.iter().any(|id| message.contains(id)));
                        assert!(said.is_empty(), "{} {}: {said:?}", ladder.name, step.name);
                        launches += 1;
                    }
                }
                if launches > 0 {
                    break;
                }
            }
            assert!(launches > 0, "{} {}", ladder.name, step.name);
        }
    }
}
