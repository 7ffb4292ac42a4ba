//! What limits a launch, in words.

use tripipe_device::{Family, Gpu, IssueRule, LocalPlacement, Vendor};
use tripipe_timing::{Limiter, Prediction, Resource};

use crate::number::percent;

/// The share of the time from which a resource that does not limit is mentioned.
const NEAR: f64 = 0.7;

/// The short name of a resource: `A`, `FMA`, `LS` ... as in the vendor's tools, `L2`, `DRAM`.
pub fn head(resource: Resource, gpu: &Gpu) -> &'static str {
    let adreno = gpu.vendor() == Vendor::Qualcomm;
    // With parallel pipes, the arithmetic resource is the FMA pipe alone.
    let parallel = gpu.core.issue_rule.as_ref().is_some_and(|rule| rule.value == IssueRule::Parallel);
    match resource {
        Resource::Arithmetic if adreno => "ALU",
        Resource::Arithmetic if parallel => "FMA",
        Resource::Arithmetic => "A",
        Resource::Convert => "CVT",
        Resource::Special if adreno => "EFU",
        Resource::Special => "SFU",
        Resource::LoadStore => "LS",
        Resource::Texture => "T",
        Resource::Local => "local",
        Resource::Start => "start",
        Resource::Port => "port",
        Resource::L2 => "L2",
        Resource::Translation => "TLB",
        Resource::Dram => "DRAM",
    }
}

/// The short name of what limits a launch: that of a resource, `latency`, or `launch`.
pub fn limiter(limiter: Limiter, gpu: &Gpu) -> &'static str {
    match limiter {
        Limiter::Resource(resource) => head(resource, gpu),
        Limiter::Latency => "latency",
        Limiter::Launch => "launch",
    }
}

/// Whether a GPU has a resource of its own for this.
pub(super) fn exists(resource: Resource, gpu: &Gpu) -> bool {
    let valhall = matches!(gpu.family(), Family::Valhall | Family::Arm5thGen);
    match resource {
        // By other rules of issue, conversions take the arithmetic's time.
        Resource::Convert => {
            let rule = gpu.core.issue_rule.as_ref();
            valhall && rule.is_none_or(|rule| rule.value == IssueRule::Parallel)
        }
        // In the other families, special functions are words of the arithmetic pipe.
        Resource::Special => valhall || gpu.vendor() == Vendor::Qualcomm,
        Resource::Local => gpu.local_memory.placement.value == LocalPlacement::Dedicated,
        _ => true,
    }
}

/// What a resource does.
pub(super) fn what(resource: Resource, gpu: &Gpu) -> &'static str {
    match resource {
        Resource::Arithmetic => "arithmetic",
        Resource::Convert => "conversions",
        Resource::Special => "special functions",
        Resource::LoadStore => "loads and stores",
        Resource::Texture if gpu.family() == Family::Midgard => "images, barriers",
        Resource::Texture => "image reads",
        Resource::Local => "local memory",
        Resource::Start => "new work-groups",
        Resource::Port => "L2 to a core",
        Resource::L2 => "L2 slices",
        Resource::Translation => "translations",
        Resource::Dram => "memory",
    }
}

/// What a limit means, and what helps.
fn meaning(limiter: Limiter, gpu: &Gpu) -> &'static str {
    match limiter {
        Limiter::Launch => {
            "the host needs longer to start the kernel than the GPU to run it, so that a faster kernel gains nothing \
            where launches follow each other. More work in a launch helps"
        }
        Limiter::Latency => {
            "work-items wait for results. More threads in flight (more work-items, fewer registers) or more \
            independent work in a work-item help"
        }
        Limiter::Resource(resource) => match resource {
            Resource::Arithmetic => {
                "fewer operations, narrower types or fuller vectors help; less memory traffic does not"
            }
            Resource::Convert => {
                "fewer conversions, comparisons and integer additions help, such as simpler index arithmetic"
            }
            Resource::Special => {
                "fewer special functions and integer multiplications help, or less precise ones"
            }
            Resource::LoadStore => {
                "fewer or wider accesses help: vectors, adjacent addresses, values kept in registers"
            }
            Resource::Texture if gpu.family() == Family::Midgard => {
                "fewer image reads and barriers help, or buffers for a part of the data"
            }
            Resource::Texture => "fewer image reads help, or buffers for a part of the data",
            Resource::Local => {
                "fewer accesses to local memory help: values kept in registers, more outputs for each value read"
            }
            Resource::Start => {
                "the core waits for new work-groups and threads: larger work-groups or more work in a work-item help"
            }
            Resource::Port => "the L1 misses too often: tiles that fit into it and adjacent accesses help",
            Resource::L2 => {
                "the L1 of all cores misses too often: tiles that fit into it and adjacent accesses help"
            }
            Resource::Translation => {
                "accesses go to too many pages at a time: neighbouring work-items and iterations that stay in the \
                same rows or tiles help"
            }
            Resource::Dram => {
                "fewer bytes help: narrower types, tiles that stay in the L2, several steps in one kernel"
            }
        },
    }
}

/// The explanation of a limit by its short name, as [`limiter`] has it for some GPU; capitals do not matter.
pub fn explanation(name: &str) -> Option<String> {
    let all = [Limiter::Latency, Limiter::Launch].into_iter().chain(Resource::ALL.map(Limiter::Resource));
    let (found, gpu) = all
        .flat_map(|each| tripipe_device::catalog().iter().map(move |gpu| (each, gpu)))
        .find(|(each, gpu)| limiter(*each, gpu).eq_ignore_ascii_case(name))?;
    let head = match found {
        Limiter::Resource(resource) => {
            format!("{} ({}), busy nearly all the time", limiter(found, gpu), what(resource, gpu))
        }
        Limiter::Latency => "latency: no resource is busy nearly all the time".to_owned(),
        Limiter::Launch => "launch".to_owned(),
    };
    Some(format!("What limits a launch: {head}: {}.", meaning(found, gpu)))
}

/// What limits a launch and what that means, in sentences.
pub(super) fn verdict(prediction: &Prediction, gpu: &Gpu) -> String {
    let (busiest, share) = prediction.busiest();
    let (name, busy) = (head(busiest, gpu), percent(share));
    let limiter = prediction.limiter();
    let means = meaning(limiter, gpu);
    match limiter {
        Limiter::Launch => format!("Limited by the launch: {means}."),
        Limiter::Latency => format!(
            "Limited by latency: no resource is busy for 80% of the time (the busiest is {name}, {}, at {busy}), \
            because {means}.",
            what(busiest, gpu)
        ),
        Limiter::Resource(resource) => {
            let near: Vec<String> = Resource::ALL
                .into_iter()
                .zip(prediction.shares)
                .filter(|(other, share)| *other != resource && *share >= NEAR)
                .map(|(other, share)| format!("{} at {}", head(other, gpu), percent(share)))
                .collect();
            let near =
                if near.is_empty() { String::new() } else { format!(" Close behind: {}.", near.join(", ")) };
            format!("Limited by {name} ({}), busy {busy} of the time: {means}.{near}", what(resource, gpu))
        }
    }
}
