//! What the page may ask, in JSON, and the answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tripipe_device::{UnknownGpu, catalog};
use tripipe_ir::diagnostic::LoadError;
use tripipe_ir::front::spirv;
use tripipe_ir::{Kernel, ParameterKind};

use crate::analysis::analyses;

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Ask {
    /// The GPUs that have a model.
    Gpus,
    /// The kernels of the module.
    Kernels,
    /// The documents of `tripipe analyze --format json`, one a line.
    Analyze(Analyze),
}

/// What to analyse.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Analyze {
    /// The program's name, for the documents.
    pub program: String,
    /// The kernel; without it all of them.
    pub kernel: Option<String>,
    /// Names of GPUs.
    pub gpus: Vec<String>,
    /// Values of integer arguments by name, as `--arg` gives them.
    #[serde(default)]
    pub arguments: BTreeMap<String, i64>,
    /// Work-items of a work-group in 1 to 3 dimensions, as `--local` gives them; empty if it is not known.
    #[serde(default)]
    pub local: Vec<u64>,
    /// What is left out of the module: the optimisations of a driver.
    pub left_out: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The request is not one.
    #[error("the request is not understood: {0}")]
    Request(#[from] serde_json::Error),
    /// The bytes are not a module that can be read.
    #[error("{program}: {error}")]
    Module {
        /// The program's name.
        program: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// No model has this name.
    #[error(transparent)]
    Gpu(#[from] UnknownGpu),
    /// The module has no kernel of that name, or it cannot be read.
    #[error("{0}")]
    Kernel(String),
    /// A size of a work-group that is none.
    #[error("a work-group has 1 to 3 dimensions of at least 1 work-item")]
    Local,
}

#[derive(Serialize)]
struct GpuName {
    name: &'static str,
    family: &'static str,
}

#[derive(Serialize)]
struct KernelFacts {
    name: String,
    /// Integer arguments: trip counts and strides may depend on them.
    integers: Vec<String>,
    required_local_size: Option<[u32; 3]>,
    /// Why it cannot be analysed.
    refused: Option<String>,
}

/// Answers a request about a module, which may be empty where none is needed.
///
/// # Errors
/// The request or the module is wrong, as [`Failure`] says.
pub fn respond(request: &[u8], module: &[u8]) -> Result<String, Failure> {
    Ok(match serde_json::from_slice(request)? {
        Ask::Gpus => {
            let name =
                |gpu: &'static tripipe_device::Gpu| GpuName { name: gpu.name(), family: gpu.family().id() };
            serde_json::to_string(&catalog().iter().map(name).collect::<Vec<_>>())?
        }
        Ask::Kernels => {
            let loaded = load(module, "the module")?;
            let refused = loaded.refused.iter().map(|refused| KernelFacts {
                name: refused.kernel.clone(),
                integers: Vec::new(),
                required_local_size: None,
                refused: Some(refused.error.to_string()),
            });
            let all: Vec<KernelFacts> = loaded.module.kernels.iter().map(facts).chain(refused).collect();
            serde_json::to_string(&all)?
        }
        Ask::Analyze(ask) => {
            let gpus =
                ask.gpus.iter().map(|name| tripipe_device::find(name)).collect::<Result<Vec<_>, _>>()?;
            analyses(&load(module, &ask.program)?, &gpus, &ask)?
        }
    })
}

fn load(module: &[u8], program: &str) -> Result<spirv::Loaded, Failure> {
    let failed = |error| Failure::Module { program: program.to_owned(), error };
    spirv::load_each(module, &spirv::Options::default()).map_err(failed)
}

fn facts(kernel: &Kernel) -> KernelFacts {
    let integers = kernel.parameters.iter().filter(|parameter| match parameter.kind {
        ParameterKind::Value(ty) => ty.is_int() && !parameter.name.is_empty(),
        _ => false,
    });
    KernelFacts {
        name: kernel.name.clone(),
        integers: integers.map(|parameter| parameter.name.clone()).collect(),
        required_local_size: kernel.required_local_size,
        refused: None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let said =
            |request: &str, module: &[u8]| respond(request.as_bytes(), module).unwrap_err().to_string();
        let analyze = |more: &str| format!(r#"{{"ask":"analyze","program":"a.spv","gpus":["g77"]{more}}}"#);
        assert!(said("", b"").starts_with("the request is not understood"));
        assert!(said(r#"{"ask":"run"}"#, b"").contains("`run`"));
        assert!(said(&analyze(r#","locl":[1]"#), b"").contains("`locl`"));
        assert!(
            said(&analyze("").replace("g77", "g777"), b"").starts_with("no GPU model is called \"g777\"")
        );
        assert!(said(&analyze(""), b"no module").starts_with("a.spv: "));
        assert!(said(r#"{"ask":"kernels"}"#, b"\x03\x02\x23\x07").starts_with("the module: "));
        // Words of a module without functions: the magic, version 1.0, no generator, bound 1, no schema.
        let empty: Vec<u8> =
            [0x0723_0203, 0x0001_0000, 0, 1, 0u32].into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(said(&analyze(r#","kernel":"f""#), &empty), "a.spv has no kernel `f`");
        assert!(said(&analyze(r#","local":[8,0]"#), &empty).contains("at least 1"));
        assert!(said(&analyze(r#","local":[1,1,1,1]"#), &empty).contains("1 to 3"));
    }

    #[test]
    fn every_gpu_is_named() {
        let all: serde_json::Value =
            serde_json::from_str(&respond(br#"{"ask":"gpus"}"#, b"").unwrap()).unwrap();
        assert_eq!(all.as_array().unwrap().len(), catalog().len());
        assert_eq!(all[0]["family"], catalog()[0].family().id());
    }
}
