//! The GPUs that a model computes for.

use anyhow::Result;
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
