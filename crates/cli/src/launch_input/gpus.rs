//! The GPUs that a model computes for.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::Args;
use tripipe_device::{Gpu, catalog};

use crate::commands::note;

/// One GPU of each family, the most common one: the default of commands that compute for several GPUs.
const ONE_OF_EACH: &str = "Mali-T860,Mali-G52,Mali-G78,Mali-G610,Mali-G720,Adreno 640";

/// The default of commands that compute for one GPU.
pub(crate) const DEFAULT_GPU: &str = "Mali-G610";

/// The GPU of that name.
pub(crate) fn gpu(name: &str) -> Result<&'static Gpu, String> {
    tripipe_device::find(name.trim()).map_err(|error| error.to_string())
}

/// GPUs by name.
#[derive(Args, Debug)]
pub(crate) struct GpuArgument {
    /// GPUs, e.g. "Mali-G77" or "g52,640"; all selects every GPU that has a model. The default is one of each family.
    #[arg(short = 'g', long = "gpu", value_name = "GPU,...", value_delimiter = ',', num_args = 1,
          default_value = ONE_OF_EACH)]
    names: Vec<String>,
    /// Generation of the GPUs' compiler, where it changed the code much: 2013 or 2017 for Mali Midgard [default: that of
    /// the drivers with which each GPU was measured].
    #[arg(long, value_name = "YEAR")]
    compiler: Option<String>,
}

/// The names of GPUs.
pub(crate) fn names(gpus: &[&Gpu]) -> String {
    gpus.iter().map(|gpu| gpu.name()).collect::<Vec<_>>().join(", ")
}

impl GpuArgument {
    /// Whether the user named GPUs.
    pub(crate) fn is_named(&self) -> bool {
        self.names.join(",") != ONE_OF_EACH
    }

    /// The GPUs requested, without duplicates; for `all`, in the catalog's order.
    ///
    /// # Errors
    /// A name is not that of one GPU.
    pub(crate) fn resolve(&self) -> Result<Vec<&'static Gpu>> {
        let gpus = self.named()?;
        let Some(compiler) = &self.compiler else { return Ok(gpus) };
        let has = |gpu: &&Gpu| tripipe_timing::compilers(gpu).iter().any(|name| name == compiler);
        let (compiled, others): (Vec<&Gpu>, Vec<&Gpu>) = gpus.iter().copied().partition(has);
        if compiled.is_empty() {
            let known: BTreeSet<&String> = catalog().iter().flat_map(tripipe_timing::compilers).collect();
            let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
            bail!(
                "--compiler: no compiler `{compiler}` of {} is known; there are {} of Mali Midgard GPUs, such as -g t628",
                names(&others),
                known.join(" and ")
            );
        }
        let kept = if others.is_empty() {
            String::new()
        } else {
            format!("; {} as usual, because no other compiler of theirs is known", names(&others))
        };
        note(&format!("{}: compiled as in {compiler}{kept}", names(&compiled)));
        Ok(gpus.into_iter().map(|gpu| if has(&gpu) { compiled_by(gpu, compiler) } else { gpu }).collect())
    }

    fn named(&self) -> Result<Vec<&'static Gpu>> {
        let mut gpus: Vec<&'static Gpu> = Vec::new();
        let is_all = |name: &&String| name.trim().eq_ignore_ascii_case("all");
        for name in self.names.iter().filter(|name| !is_all(name)) {
            let found = tripipe_device::find(name.trim())?;
            if !gpus.iter().any(|gpu| gpu.name() == found.name()) {
                gpus.push(found);
            }
        }
        Ok(if self.names.iter().any(|name| is_all(&name)) { catalog().iter().collect() } else { gpus })
    }
}

/// The GPU with another compiler. It lives as long as the command, like those of the catalog.
fn compiled_by(gpu: &Gpu, compiler: &str) -> &'static Gpu {
    let mut gpu = gpu.clone();
    gpu.drivers.compiler = Some(compiler.to_owned());
    Box::leak(Box::new(gpu))
}
