//! The GPUs that a model computes for.

use anyhow::{Result, bail};
use clap::Args;
use tripipe_device::{Gpu, catalog};

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
        gpus.into_iter().map(|gpu| compiled_by(gpu, compiler)).collect()
    }

    fn named(&self) -> Result<Vec<&'static Gpu>> {
        let mut gpus: Vec<&'static Gpu> = Vec::new();
        for name in &self.names {
            if name.eq_ignore_ascii_case("all") {
                return Ok(catalog().iter().collect());
            }
            let found = tripipe_device::find(name.trim())?;
            if !gpus.iter().any(|gpu| gpu.name() == found.name()) {
                gpus.push(found);
            }
        }
        Ok(gpus)
    }
}

/// The GPU with another compiler. It lives as long as the command, like those of the catalog.
fn compiled_by(gpu: &Gpu, compiler: &str) -> Result<&'static Gpu> {
    let known = tripipe_timing::compilers(gpu);
    if known.is_empty() {
        bail!("--compiler: the compilers of the {} are not told apart; remove the option", gpu.name());
    }
    if !known.iter().any(|name| name == compiler) {
        bail!(
            "--compiler: the {} has had no compiler `{compiler}`; there are {}",
            gpu.name(),
            known.join(", ")
        );
    }
    let mut gpu = gpu.clone();
    gpu.drivers.compiler = Some(compiler.to_owned());
    Ok(Box::leak(Box::new(gpu)))
}
