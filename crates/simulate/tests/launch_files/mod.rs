//! Support for the launch files of `tests/bugs`: the signatures of kernels, and the absence of other files.

use tripipe_ir::{Kernel, Space, Type};
use tripipe_launch_file::{Array, ElementType, Files, Parameter, ParameterKind, Pixels, Signature};

/// The signature of a kernel, as far as these launch files need it.
pub(crate) fn signature(kernel: &Kernel) -> Signature {
    let kind = |parameter: &tripipe_ir::Parameter| match parameter.kind {
        tripipe_ir::ParameterKind::Pointer { space: Space::Local, .. } => ParameterKind::Local,
        tripipe_ir::ParameterKind::Pointer { .. } => ParameterKind::Buffer { element: None },
        tripipe_ir::ParameterKind::Value(Type::Image(_)) => ParameterKind::Image,
        tripipe_ir::ParameterKind::Value(Type::Sampler) => ParameterKind::Sampler,
        _ => ElementType::from_opencl_name(&parameter.type_name)
            .map_or(ParameterKind::Unknown, ParameterKind::Value),
    };
    let parameters = kernel
        .parameters
        .iter()
        .map(|parameter| Parameter { name: parameter.name.clone(), kind: kind(parameter) })
        .collect();
    Signature { kernel: kernel.name.clone(), parameters }
}

/// These launch files refer to no files except their source.
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn bytes(&mut self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        Err(format!("{path} is not looked for"))
    }

    fn array(&mut self, path: &str, _: u64) -> Result<Array, String> {
        Err(format!("{path} is not looked for"))
    }

    fn picture(&mut self, path: &str, _: Option<usize>, _: u64) -> Result<Pixels, String> {
        Err(format!("{path} is not looked for"))
    }
}
