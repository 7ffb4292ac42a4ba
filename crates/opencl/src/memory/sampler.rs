//! Samplers.

use opencl_sys as cl;
use opencl_sys::cl_sampler;
use tripipe_launch::{Addressing, Filter};

use crate::api::objects;
use crate::code::CallError;
use crate::context::Context;
use crate::handle::SamplerHandle;
use crate::memory::MemoryError;

/// How a kernel samples an image; passed as a kernel argument.
pub struct Sampler {
    handle: SamplerHandle,
    context: Context,
}

impl Sampler {
    /// A sampler with the settings of `description`.
    ///
    /// # Errors
    /// No images on this device; repeating addressing without normalised coordinates; the driver fails.
    pub fn new(context: &Context, description: &tripipe_launch::Sampler) -> Result<Self, MemoryError> {
        if context.device().probe().images.is_none() {
            return Err(MemoryError::NotOffered { what: "images".to_owned() });
        }
        let addressing = match description.addressing {
            Addressing::None => cl::CL_ADDRESS_NONE,
            Addressing::ClampToEdge => cl::CL_ADDRESS_CLAMP_TO_EDGE,
            Addressing::Clamp => cl::CL_ADDRESS_CLAMP,
            Addressing::Repeat => cl::CL_ADDRESS_REPEAT,
            Addressing::MirroredRepeat => cl::CL_ADDRESS_MIRRORED_REPEAT,
        };
        if !description.normalized
            && matches!(description.addressing, Addressing::Repeat | Addressing::MirroredRepeat)
        {
            let what = "a repeating sampler without normalised coordinates".to_owned();
            return Err(MemoryError::NotOffered { what });
        }
        let filter = match description.filter {
            Filter::Nearest => cl::CL_FILTER_NEAREST,
            Filter::Linear => cl::CL_FILTER_LINEAR,
        };
        // SAFETY: live as long as its handle.
        let raw =
            unsafe { objects::create_sampler(context.raw(), description.normalized, addressing, filter) }
                .map_err(CallError::at("clCreateSampler"))?;
        // SAFETY: just created.
        let handle = unsafe { SamplerHandle::own(raw) };
        Ok(Self { handle, context: context.clone() })
    }

    pub(crate) fn raw(&self) -> cl_sampler {
        self.handle.raw()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}
