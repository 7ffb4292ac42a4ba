//! Samplers.

use opencl_sys::{
    cl_addressing_mode, cl_bool, cl_context, cl_filter_mode, cl_sampler, cl_sampler_info,
    cl_sampler_properties,
};

use super::boundary::{asked, pairs};
use crate::driver::context::Context;
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::sampler::ContextSampler;

constructor! {
    fn clCreateSampler(
        context: cl_context,
        normalized: cl_bool,
        addressing: cl_addressing_mode,
        filter: cl_filter_mode,
    ) {
        let context = find::<Context>(context)?;
        Ok(ContextSampler::new(context, normalized, addressing, filter, Vec::new())?.handle().pointer())
    }

    fn clCreateSamplerWithProperties(context: cl_context, properties: *const cl_sampler_properties) {
        let context = find::<Context>(context)?;
        Ok(ContextSampler::with_properties(context, pairs(properties))?.handle().pointer())
    }
}

references! { ContextSampler: clRetainSampler, clReleaseSampler; }

query! {
    fn clGetSamplerInfo(sampler: cl_sampler, query: cl_sampler_info) {
        asked::<ContextSampler>(sampler, |sampler| sampler.info(query))
    }
}
