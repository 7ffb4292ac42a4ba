//! Runs the work-groups that a model of time asks for.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use tripipe_ir::{Kernel, Module, Space};
use tripipe_launch::{ExecuteError, ImageExtent};

use super::GroupTrace;
use crate::execute::launch::Job;
use crate::execute::memory::Home;
use crate::execute::memory_map::MemoryMap;
use crate::execute::range::Group;
use crate::execute::state::{Fault, OutOfBoundsLoads, State, Stop, Warp};

/// Alignment of buffers in bytes: a page.
const PAGE: u64 = 4096;

/// A buffer or program-scope object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The parameter or variable.
    pub name: Arc<str>,
    /// Address of its first byte, a multiple of 4096. Regions do not overlap.
    pub base: u64,
    /// Its size.
    pub bytes: u64,
    /// Whether it is constant memory.
    pub constant: bool,
}

/// An image of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedImage {
    /// Address of its first byte.
    pub base: u64,
    /// Its extent in texels.
    pub extent: ImageExtent,
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// Bytes from a row to the next, and from a slice or layer to the next.
    pub pitch: [u64; 2],
    /// Whether it lies over the bytes of a buffer, so that no driver can store it in another order.
    pub over_buffer: bool,
}

/// Runs single work-groups of a launch, and records them.
pub struct Tracer<'l> {
    job: &'l Job<'l>,
    bases: &'l [u64],
    state: State<'l>,
    warps: Vec<Warp>,
    ran: BTreeSet<u64>,
    done: &'l Cell<Option<GroupTrace>>,
    fail: &'l dyn Fn(&Group, Stop) -> ExecuteError,
}

impl<'l> Tracer<'l> {
    pub(crate) fn new(
        job: &'l Job<'l>,
        bases: &'l [u64],
        state: State<'l>,
        done: &'l Cell<Option<GroupTrace>>,
        fail: &'l dyn Fn(&Group, Stop) -> ExecuteError,
    ) -> Self {
        Self { job, bases, state, warps: Vec::new(), ran: BTreeSet::new(), done, fail }
    }

    /// The kernel.
    pub fn kernel(&self) -> &'l Kernel {
        self.job.kernel
    }

    /// The kernel's module.
    pub fn module(&self) -> &'l Module {
        self.job.module
    }

    /// Work-items in each dimension.
    pub fn global(&self) -> [u64; 3] {
        self.job.range.global
    }

    /// Work-items of a full work-group in each dimension.
    #[allow(clippy::misnamed_getters, reason = "groups at the edge are smaller")]
    pub fn local(&self) -> [u64; 3] {
        self.job.range.enqueued_local
    }

    /// Work-groups in each dimension.
    pub fn groups(&self) -> [u64; 3] {
        self.job.range.groups
    }

    /// Bytes of local memory that a work-group has.
    pub fn local_bytes(&self) -> u64 {
        self.job.memory_map.local_bytes()
    }

    /// Bytes of private variables in memory that a work-item has.
    pub fn private_bytes(&self) -> u64 {
        self.job.memory_map.private_bytes()
    }

    /// Buffers and program-scope objects.
    pub fn regions(&self) -> Vec<Region> {
        let objects = self.job.memory_map.objects.iter().zip(self.bases);
        objects
            .filter(|(info, _)| matches!(info.home, Home::Global(_)))
            .map(|(info, base)| Region {
                name: Arc::clone(&info.name),
                base: *base,
                bytes: info.bytes,
                constant: info.space == Space::Constant,
            })
            .collect()
    }

    /// Images, in the order of [`super::Reach::Image`].
    pub fn images(&self) -> Vec<TracedImage> {
        let images = self.job.images.iter();
        images
            .map(|bound| TracedImage {
                base: self.bases.get(bound.object as usize).copied().unwrap_or(0) + bound.offset as u64,
                extent: bound.image.shape().extent,
                texel_bytes: bound.image.texel_bytes() as u32,
                pitch: bound.image.pitch(),
                over_buffer: bound.image.is_over_buffer(),
            })
            .collect()
    }

    /// The first load outside of a buffer, if such loads are tolerated.
    pub(crate) fn stray(self) -> Option<(Group, Fault)> {
        match self.state.strays {
            OutOfBoundsLoads::Zeros(first) => first,
            OutOfBoundsLoads::Fault => None,
        }
    }

    /// The work-groups that were run, in order.
    pub fn ran(&self) -> impl Iterator<Item = u64> {
        self.ran.iter().copied()
    }

    /// Runs a work-group, and returns its record. `linear` counts work-groups with dimension 0 fastest.
    ///
    /// # Errors
    /// The work-group executes an operation without a defined result, or too many instructions.
    pub fn group(&mut self, linear: u64) -> Result<GroupTrace, ExecuteError> {
        self.state.steps = self.job.steps;
        self.ran.insert(linear);
        self.job.enter_group(&mut self.state, linear);
        self.state.run_group(&mut self.warps);
        self.state.observe(|observer, s| observer.end_group(s));
        match self.state.stop.take() {
            Some(stop) => Err((self.fail)(&self.state.group, stop)),
            None => Ok(self.done.take().unwrap_or_default()),
        }
    }
}

/// The address of the first byte of each object: of globals in one address space, of local and private objects from
/// the start of those of the work-group and the work-item.
pub(crate) fn bases(memory_map: &MemoryMap) -> Vec<u64> {
    let (mut global, mut local, mut private) = (1 << 20, 0u64, 0u64);
    let objects = memory_map.objects.iter();
    objects
        .map(|info| {
            let (next, align, gap) = match info.home {
                Home::Null => return 0,
                // A gap, so that buffers do not start in the same cache set.
                Home::Global(_) => (&mut global, PAGE, PAGE),
                Home::Local(_) => (&mut local, 16, 0),
                Home::Private(_) => (&mut private, 16, 0),
            };
            let base = *next;
            *next = base.saturating_add(info.bytes).next_multiple_of(align) + gap;
            base
        })
        .collect()
}
