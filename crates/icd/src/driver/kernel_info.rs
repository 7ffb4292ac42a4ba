//! `clGetKernel...Info`.

use opencl_sys as cl;
use opencl_sys::{
    cl_bitfield, cl_kernel_arg_info, cl_kernel_info, cl_kernel_sub_group_info, cl_kernel_work_group_info,
};
use tripipe_ir::{ImageAccess, ParameterKind, Scalar, Space, Type};

use super::device::Device;
use super::failure::{Failure, Outcome, require};
use super::handle::ApiObject as _;
use super::info::{self, Answer};
use super::kernel::Kernel;

fn unknown(query: u32, of: &str) -> Failure {
    Failure::new(cl::CL_INVALID_VALUE, format!("{query:#x} is not a query of {of}"))
}

/// The name in OpenCL C of a number, unsigned if it is an integer.
fn unsigned_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "uchar",
        Scalar::I16 => "ushort",
        Scalar::I32 => "uint",
        Scalar::I64 => "ulong",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

impl Kernel {
    /// Answers `clGetKernelInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_kernel_info) -> Outcome<Answer> {
        let kernel = self.ir();
        Ok(match query {
            cl::CL_KERNEL_FUNCTION_NAME => info::text(&kernel.name),
            cl::CL_KERNEL_NUM_ARGS => info::number(kernel.parameters.len() as u32),
            cl::CL_KERNEL_REFERENCE_COUNT => info::number(self.handle.references()),
            cl::CL_KERNEL_CONTEXT => info::pointer(self.program.owner().handle().pointer()),
            cl::CL_KERNEL_PROGRAM => info::pointer(self.program.handle().pointer()),
            cl::CL_KERNEL_ATTRIBUTES => {
                let sized =
                    |name: &str, size: Option<[u32; 3]>| size.map(|[x, y, z]| format!("{name}({x},{y},{z})"));
                let required = sized("reqd_work_group_size", kernel.required_local_size);
                let hint = sized("work_group_size_hint", kernel.local_size_hint);
                // A module does not keep the sign, so that integers are unsigned here.
                let vector = kernel.vector_hint.and_then(|ty| Some((ty.scalar()?, ty.lanes())));
                let vector = vector.map(|(scalar, lanes)| {
                    let lanes = if lanes == 1 { String::new() } else { lanes.to_string() };
                    format!("vec_type_hint({}{lanes})", unsigned_name(scalar))
                });
                let all: Vec<String> = required.into_iter().chain(hint).chain(vector).collect();
                info::text(&all.join(" "))
            }
            _ => return Err(unknown(query, "kernels")),
        })
    }

    /// Answers `clGetKernelArgInfo`.
    ///
    /// # Errors
    /// There is no such argument or query, or the module does not say.
    pub fn argument_info(&self, index: u32, query: cl_kernel_arg_info) -> Outcome<Answer> {
        let parameter = self.parameter(index)?;
        let known = !parameter.name.is_empty() && !parameter.type_name.is_empty();
        require(known, cl::CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "the module has no names of arguments")?;
        Ok(match query {
            cl::CL_KERNEL_ARG_ADDRESS_QUALIFIER => info::number(match &parameter.kind {
                ParameterKind::Pointer { space: Space::Local, .. } => cl::CL_KERNEL_ARG_ADDRESS_LOCAL,
                ParameterKind::Pointer { space: Space::Constant, .. } => cl::CL_KERNEL_ARG_ADDRESS_CONSTANT,
                ParameterKind::Pointer { .. } | ParameterKind::Value(Type::Image(_)) => {
                    cl::CL_KERNEL_ARG_ADDRESS_GLOBAL
                }
                _ => cl::CL_KERNEL_ARG_ADDRESS_PRIVATE,
            }),
            cl::CL_KERNEL_ARG_ACCESS_QUALIFIER => info::number(match &parameter.kind {
                ParameterKind::Value(Type::Image(image)) => match image.access {
                    ImageAccess::Read => cl::CL_KERNEL_ARG_ACCESS_READ_ONLY,
                    ImageAccess::Write => cl::CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
                    ImageAccess::ReadWrite => cl::CL_KERNEL_ARG_ACCESS_READ_WRITE,
                },
                _ => cl::CL_KERNEL_ARG_ACCESS_NONE,
            }),
            cl::CL_KERNEL_ARG_TYPE_NAME => info::text(&parameter.type_name),
            cl::CL_KERNEL_ARG_TYPE_QUALIFIER => {
                let mut bits = cl::CL_KERNEL_ARG_TYPE_NONE;
                if let ParameterKind::Pointer { space, read_only, restrict, volatile, .. } = &parameter.kind {
                    if *read_only || *space == Space::Constant {
                        bits |= cl::CL_KERNEL_ARG_TYPE_CONST;
                    }
                    if *restrict {
                        bits |= cl::CL_KERNEL_ARG_TYPE_RESTRICT;
                    }
                    if *volatile {
                        bits |= cl::CL_KERNEL_ARG_TYPE_VOLATILE;
                    }
                }
                // `cl_kernel_arg_type_qualifier` is a `cl_bitfield`: 64 bits.
                info::number(cl_bitfield::from(bits))
            }
            cl::CL_KERNEL_ARG_NAME => info::text(&parameter.name),
            _ => return Err(unknown(query, "arguments")),
        })
    }

    /// Answers `clGetKernelWorkGroupInfo`.
    ///
    /// # Errors
    /// There is no such query, or the device cannot run the kernel.
    pub fn work_group_info(&self, device: &Device, query: cl_kernel_work_group_info) -> Outcome<Answer> {
        self.program.owner().check_device(device)?;
        let facts = || self.executable.facts(device, &self.ir().name);
        Ok(match query {
            cl::CL_KERNEL_WORK_GROUP_SIZE => info::number(facts()?.max_work_group_size),
            cl::CL_KERNEL_COMPILE_WORK_GROUP_SIZE => {
                let required = self.ir().required_local_size.unwrap_or_default();
                info::list(&required.map(|extent| extent as usize))
            }
            cl::CL_KERNEL_LOCAL_MEM_SIZE => {
                info::number(facts()?.local_bytes + self.local_arguments() as u64)
            }
            cl::CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                info::number(facts()?.preferred_work_group_multiple)
            }
            cl::CL_KERNEL_PRIVATE_MEM_SIZE => info::number(facts()?.private_bytes),
            cl::CL_KERNEL_GLOBAL_WORK_SIZE => {
                let what = "only built-in kernels and custom devices have a largest global size";
                return Err(Failure::new(cl::CL_INVALID_VALUE, what));
            }
            _ => return Err(unknown(query, "work-groups")),
        })
    }

    /// Answers `clGetKernelSubGroupInfo`; `input` are the numbers that the application passes.
    ///
    /// # Errors
    /// There is no such query, the input is wrong, or the device has no sub-groups.
    pub fn sub_group_info(
        &self,
        device: &Device,
        query: cl_kernel_sub_group_info,
        input: &[usize],
    ) -> Outcome<Answer> {
        self.program.owner().check_device(device)?;
        require(device.has_sub_groups(), cl::CL_INVALID_OPERATION, "the device has no sub-groups")?;
        let warp = device.gpu.core.warp_width.value.max(1);
        let size = self.ir().sub_group_size(Some(&device.opencl)).unwrap_or(warp) as usize;
        let most = self.executable.facts(device, &self.ir().name)?.max_work_group_size;
        let wrong = || Failure::new(cl::CL_INVALID_VALUE, "the input is not a work-group size");
        let items = || {
            let all = input.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
            all.filter(|items| *items > 0 && (1..=3).contains(&input.len())).ok_or_else(wrong)
        };
        Ok(match query {
            cl::CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE => info::number(items()?.min(size)),
            cl::CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => info::number(items()?.div_ceil(size)),
            cl::CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
                let [count] = input else { return Err(wrong()) };
                let items = count.checked_mul(size).filter(|items| *items <= most && *items > 0).unwrap_or(0);
                let rest = usize::from(items > 0);
                return Ok(info::list(&[items, rest, rest]));
            }
            cl::CL_KERNEL_MAX_NUM_SUB_GROUPS => info::number(most.div_ceil(size)),
            cl::CL_KERNEL_COMPILE_NUM_SUB_GROUPS => info::number(0usize),
            _ => return Err(unknown(query, "sub-groups")),
        })
    }
}
