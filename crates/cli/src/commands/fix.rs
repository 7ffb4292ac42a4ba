//! `tripipe analyze --fix`: a kernel with one advice followed.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use tripipe_analyze::{analyze, lints};
use tripipe_device::Gpu;
use tripipe_improve::{ALL, Options, advice};
use tripipe_ir::diagnostic::Rule;

use super::analyze::setup;
use super::explain::find;
use super::improve::{ImproveFormat, check_place, improve, print};
use super::{ReportWriter, note};
use crate::files::output::Output;
use crate::finish::Finish;
use crate::launch_input::{Description, LIMIT_STEPS, one_kernel};
use crate::progress::Progress;

/// Time for prices and proofs.
const LIMIT: Duration = Duration::from_secs(60);

/// The least gain of a fix: what advice has that is printed.
const GAIN: f64 = 1.01;

/// Applies the best rewrite of a rule to a kernel, verified as `tripipe improve` does, and writes the new source to
/// `place`, or prints the difference.
///
/// # Errors
/// There is no such rule, or no rewrite for it; `place` is the source; as [`improve`].
pub(super) fn fix(
    code: &str,
    description: &Description,
    gpus: &[&'static Gpu],
    format: ImproveFormat,
    place: Option<&Path>,
    text: Option<Output>,
    out: &mut ReportWriter<'_>,
) -> Result<Finish> {
    let rule = find(lints::ALL, code)?;
    let mut rewrites = advice::rewrites(rule);
    if rewrites.is_empty() {
        let code = rule.code;
        bail!("no rewrite follows `{code}`: it is done by hand (`tripipe explain {code}` says how)");
    }
    // In the forms that these make of a kernel, others understand more.
    rewrites.extend(ALL.iter().filter(|rewrite| rewrite.prepares));
    if let Some(place) = place {
        check_place(place)?;
    }
    if !is_found(rule, description, gpus)? {
        note(&format!("nothing to fix: {} finds nothing", rule.code));
        return Ok(Finish::Clean);
    }
    let options = Options {
        allowed: advice::allowed(rule),
        limit: LIMIT,
        depth: 1,
        width: 1,
        gain: GAIN,
        slack: 1.0 / GAIN,
        limit_steps: LIMIT_STEPS,
    };
    let progress = Progress::compiler("compiling the kernel");
    let fixed = improve(description, gpus, &rewrites, &options, place, &progress)?;
    drop(progress);
    let is_fixed = fixed.speedup > 1.0;
    print(&[fixed], format, true, place.is_none(), text, out)?;
    Ok(if is_fixed { Finish::Clean } else { Finish::Findings })
}

/// Whether a lint finds something in the kernel on one of the GPUs.
fn is_found(rule: &Rule, description: &Description, gpus: &[&'static Gpu]) -> Result<bool> {
    for gpu in gpus {
        let build = description.as_driver(gpu)?;
        let kernel = one_kernel(&build.loaded, &description.shown(), description.file.kernel.as_deref())?;
        let analysis = analyze(kernel, gpu, &setup(description, kernel)?);
        if analysis.advice.iter().any(|advice| advice.rule.code == rule.code) {
            return Ok(true);
        }
    }
    Ok(false)
}
