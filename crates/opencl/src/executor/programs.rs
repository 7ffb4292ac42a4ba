//! Lookup of built programs.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use tripipe_cache::Cache;
use tripipe_launch::Program as Request;

use crate::context::Context;
use crate::kernel::{Kernel, LaunchError};
use crate::program::{BuildError, Program};

/// Requested programs and what was built for them. Equal requests share one program.
#[derive(Default)]
pub(super) struct Programs {
    built: Vec<Built>,
    by_content: HashMap<Arc<Request>, usize>,
    /// Comparing contents is slow, so requests are also found by address. The [`Weak`] ensures that the address is not
    /// reused.
    by_address: HashMap<usize, (Weak<Request>, usize)>,
}

/// A program and the kernels made from it.
pub(super) struct Built {
    program: Program,
    kernels: HashMap<String, Kernel>,
}

impl Built {
    pub(super) fn new(
        context: &Context,
        request: &Request,
        cache: Option<&Cache>,
    ) -> Result<Self, BuildError> {
        let mut span = tripipe_trace::span("build", || format!("build {}", request.name));
        let program = match cache {
            Some(cache) => Program::build_cached(context, request, cache),
            None => Program::build(context, request),
        }?;
        if let Some(span) = &mut span {
            span.note("from", if program.from_cache() { "the cache" } else { "source" });
            span.note("options", program.options().to_owned());
        }
        Ok(Self { program, kernels: HashMap::new() })
    }

    /// Whether it belongs to `context`, the only one in which it can be used.
    pub(super) fn is_of(&self, context: &Context) -> bool {
        self.program.context().is(context)
    }

    pub(super) fn kernel(&mut self, entry: &str) -> Result<&Kernel, LaunchError> {
        if !self.kernels.contains_key(entry) {
            let _span = tripipe_trace::span("build", || format!("make kernel {entry}"));
            self.kernels.insert(entry.to_owned(), self.program.kernel(entry)?);
        }
        // It is present: it was made just now if not before.
        self.kernels.get(entry).ok_or_else(|| LaunchError::NoSuchKernel {
            program: self.program.name().to_owned(),
            entry: entry.to_owned(),
            kernels: self.program.kernels().to_vec(),
        })
    }
}

impl Programs {
    pub(super) fn find(&mut self, request: &Arc<Request>) -> Option<&mut Built> {
        let at = if let Some((_, at)) = self.by_address.get(&Arc::as_ptr(request).addr()) {
            *at
        } else {
            let at = *self.by_content.get(request)?;
            self.remember(request, at);
            at
        };
        self.built.get_mut(at)
    }

    /// Registers what was built for `request`. If there already is a program for it, that one stays.
    pub(super) fn add(&mut self, request: &Arc<Request>, built: Built) -> &mut Built {
        let at = *self.by_content.entry(Arc::clone(request)).or_insert(self.built.len());
        self.remember(request, at);
        if at == self.built.len() {
            self.built.push(built);
        }
        &mut self.built[at]
    }

    fn remember(&mut self, request: &Arc<Request>, at: usize) {
        // Drops entries of requests that no longer exist, so that repeated new requests do not accumulate.
        self.by_address.retain(|_, (known, _)| known.strong_count() > 0);
        self.by_address.insert(Arc::as_ptr(request).addr(), (Arc::downgrade(request), at));
    }
}
