//! Samplers.

use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::cl_sampler_info;
use tripipe_launch::{Addressing, Filter, Sampler};

use super::context::Context;
use super::failure::{Failure, Outcome, require};
use super::handle::{ApiObject, Handle, api_object, register};
use super::info::{self, Answer};

/// A sampler of a context.
pub struct ContextSampler {
    handle: Handle,
    context: Arc<Context>,
    /// How images are read.
    pub sampler: Sampler,
    addressing: u32,
    filter: u32,
    properties: Vec<u64>,
}

api_object!(ContextSampler, cl::CL_INVALID_SAMPLER, "sampler", |object| &object.context);

impl ContextSampler {
    /// A sampler; `properties` are those that the application passed, with the 0 at their end, or empty.
    ///
    /// # Errors
    /// Unknown modes.
    pub fn new(
        context: Arc<Context>,
        normalized: u32,
        addressing: u32,
        filter: u32,
        properties: Vec<u64>,
    ) -> Outcome<Arc<Self>> {
        require(normalized <= 1, cl::CL_INVALID_VALUE, "normalised coordinates are CL_TRUE or CL_FALSE")?;
        let mode = match addressing {
            cl::CL_ADDRESS_NONE => Addressing::None,
            cl::CL_ADDRESS_CLAMP_TO_EDGE => Addressing::ClampToEdge,
            cl::CL_ADDRESS_CLAMP => Addressing::Clamp,
            cl::CL_ADDRESS_REPEAT => Addressing::Repeat,
            cl::CL_ADDRESS_MIRRORED_REPEAT => Addressing::MirroredRepeat,
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{addressing:#x} is not an addressing mode"),
                ));
            }
        };
        let between = match filter {
            cl::CL_FILTER_NEAREST => Filter::Nearest,
            cl::CL_FILTER_LINEAR => Filter::Linear,
            _ => return Err(Failure::new(cl::CL_INVALID_VALUE, format!("{filter:#x} is not a filter mode"))),
        };
        let sampler = Sampler { normalized: normalized != 0, addressing: mode, filter: between };
        Ok(register(Self { handle: Handle::default(), context, sampler, addressing, filter, properties }, 1))
    }

    /// A sampler with properties in pairs: key and value.
    ///
    /// # Errors
    /// Unknown keys or modes, or a key twice.
    pub fn with_properties(context: Arc<Context>, array: Vec<u64>) -> Outcome<Arc<Self>> {
        let (mut normalized, mut addressing, mut filter) = (None, None, None);
        for pair in array.chunks_exact(2) {
            let to = match pair[0] as u32 {
                cl::CL_SAMPLER_NORMALIZED_COORDS => &mut normalized,
                cl::CL_SAMPLER_ADDRESSING_MODE => &mut addressing,
                cl::CL_SAMPLER_FILTER_MODE => &mut filter,
                other => {
                    let what = format!("{other:#x} is not a property of samplers");
                    return Err(Failure::new(cl::CL_INVALID_VALUE, what));
                }
            };
            require(to.is_none(), cl::CL_INVALID_VALUE, "a property is given twice")?;
            *to = Some(pair[1] as u32);
        }
        let addressing = addressing.unwrap_or(cl::CL_ADDRESS_CLAMP);
        Self::new(
            context,
            normalized.unwrap_or(1),
            addressing,
            filter.unwrap_or(cl::CL_FILTER_NEAREST),
            array,
        )
    }

    /// Its context.
    pub fn owner(&self) -> &Arc<Context> {
        &self.context
    }

    /// Answers `clGetSamplerInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_sampler_info) -> Outcome<Answer> {
        Ok(match query {
            cl::CL_SAMPLER_REFERENCE_COUNT => info::number(self.handle.references()),
            cl::CL_SAMPLER_CONTEXT => info::pointer(self.context.handle().pointer()),
            cl::CL_SAMPLER_NORMALIZED_COORDS => info::boolean(self.sampler.normalized),
            cl::CL_SAMPLER_ADDRESSING_MODE => info::number(self.addressing),
            cl::CL_SAMPLER_FILTER_MODE => info::number(self.filter),
            cl::CL_SAMPLER_PROPERTIES => info::list(&self.properties),
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of samplers"),
                ));
            }
        })
    }
}
