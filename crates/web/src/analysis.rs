//! The analysis of a module's kernels, as the command does it without a launch.

use std::fmt::Write as _;

use tripipe_analyze::{Advice, Setup, analyze_all};
use tripipe_device::Gpu;
use tripipe_ir::Kernel;
use tripipe_ir::front::spirv::Loaded;
use tripipe_report::analysis::{Priced, results};
use tripipe_results::Document;

use crate::request::{Analyze, Failure};

/// What the command says of the time.
const NO_LAUNCH: &str = "the launch is not known; give --global, or a launch file";

/// The documents of the kernels, or of one, on GPUs, one a line.
///
/// # Errors
/// There is no such kernel, or it cannot be read; the work-group's size is none.
pub(crate) fn analyses(loaded: &Loaded, gpus: &[&'static Gpu], ask: &Analyze) -> Result<String, Failure> {
    let Analyze { program, arguments, local, .. } = ask;
    if local.len() > 3 || local.contains(&0) {
        return Err(Failure::Local);
    }
    let at = |dimension: usize| local.get(dimension).copied().unwrap_or(1);
    let local = (!local.is_empty()).then(|| [at(0), at(1), at(2)]);
    let mut documents = String::new();
    for kernel in kernels(loaded, program, ask.kernel.as_deref())? {
        let named = arguments.iter().map(|(name, value)| (name.as_str(), *value));
        let setup = Setup { local, ..Setup::default() }.of_kernel(kernel, named);
        let mut analyses = analyze_all(kernel, gpus, &setup);
        for analysis in &mut analyses {
            analysis.left_out.extend(ask.left_out.clone());
            analysis.advice.retain(Advice::is_reported);
        }
        let priced = Priced {
            module: &loaded.module,
            kernel,
            name: program,
            source: "",
            analyses: &analyses,
            predictions: &vec![Err(NO_LAUNCH.to_owned()); analyses.len()],
        };
        for result in results(&priced) {
            let _ = writeln!(documents, "{}", Document::from(result));
        }
    }
    Ok(documents)
}

fn kernels<'l>(loaded: &'l Loaded, program: &str, wanted: Option<&str>) -> Result<Vec<&'l Kernel>, Failure> {
    let all = &loaded.module.kernels;
    let Some(wanted) = wanted else {
        if let (true, Some(refused)) = (all.is_empty(), loaded.refused.first()) {
            return Err(Failure::Kernel(format!(
                "{program}: kernel `{}`: {}",
                refused.kernel, refused.error
            )));
        }
        return Ok(all.iter().collect());
    };
    if let Some(refused) = loaded.refused.iter().find(|refused| refused.kernel == wanted) {
        return Err(Failure::Kernel(format!("{program}: kernel `{wanted}`: {}", refused.error)));
    }
    let found = loaded.module.kernel(wanted);
    found
        .map(|kernel| vec![kernel])
        .ok_or_else(|| Failure::Kernel(format!("{program} has no kernel `{wanted}`")))
}
