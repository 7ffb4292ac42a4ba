//! The state of a thread that runs a work-group.

use tripipe_ir as ir;

use super::code::{Code, Inst};
use super::memory::{Home, Memory, Private};
use super::memory_map::MemoryMap;
use super::observer::Observer;
use super::range::Group;
use super::rows::{Rows, WIDTH, first_lanes};
use super::schedule::Schedule;
use crate::arch::Arch;
use crate::image::Image;

/// Lanes at the same position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneGroup {
    pub(crate) block: u32,
    /// The instruction to continue with.
    pub(crate) inst: u32,
    pub(crate) mask: u64,
    pub(crate) waits: Waits,
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing: they can continue.
    No,
    /// The rest of their sub-group.
    SubGroup,
    /// The rest of their sub-group, of which other warps run a part.
    WideSubGroup,
    /// The rest of the work-group.
    Group,
}

impl Waits {
    /// Whether only other warps can end it.
    pub(crate) fn is_for_other_warps(self) -> bool {
        matches!(self, Self::WideSubGroup | Self::Group)
    }
}

/// Up to 64 work-items of a group, in the order of their local linear ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warp {
    pub(crate) rows: Rows,
    /// Diverged or waiting lanes, in no fixed order.
    pub(crate) lane_groups: Vec<LaneGroup>,
    pub(crate) privates: Vec<Private>,
    /// Local linear id of lane 0.
    pub(crate) first_item: u32,
    /// Position among the warps of the group that are in progress at the same time.
    pub(crate) number: u32,
    /// Position of the last lane group that got a separate turn.
    pub(crate) turn: (u32, u32),
}

/// Why execution stopped early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// Waits for the rest of the group at this instruction.
    Meet,
    /// Waits for the rest of its sub-groups at this instruction.
    MeetSubGroup,
    /// An operation without a defined result.
    Fault(Fault),
    /// The step budget is used up: an instruction of the block that would have run next.
    Steps(Option<ir::Inst>),
    /// Waits for a change that can no longer happen: the instruction that reads the memory, and a work-item.
    Waits(Option<ir::Inst>, u32),
}

/// An operation of a kernel without a defined result.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) origin: ir::Inst,
    pub(crate) item: u32,
    pub(crate) message: String,
}

/// What loads outside of buffers do.
#[derive(Clone, Debug)]
pub(crate) enum OutOfBoundsLoads {
    /// They end the launch.
    Fault,
    /// They load zeros; the first one.
    Zeros(Option<(Group, Fault)>),
}

/// A warp of a work-group whose work-items have arrived, and the mask of those lanes.
pub(crate) struct Present<'w> {
    pub(crate) warp: &'w mut Warp,
    pub(crate) mask: u64,
}

/// An image argument.
#[derive(Clone, Debug)]
pub(crate) struct BoundImage {
    pub(crate) image: Image,
    /// Number of the object that holds its texels.
    pub(crate) object: u32,
    /// Where its bytes begin in the object.
    pub(crate) offset: usize,
}

/// The state that a running work-group can access.
pub(crate) struct State<'l> {
    pub(crate) arch: Arch,
    pub(crate) module: &'l ir::Module,
    pub(crate) kernel: &'l ir::Kernel,
    pub(crate) code: &'l Code,
    pub(crate) memory_map: &'l MemoryMap,
    pub(crate) memory: Memory<'l>,
    pub(crate) images: &'l [BoundImage],
    /// The current warp.
    pub(crate) warp: Warp,
    /// The active lanes.
    pub(crate) mask: u64,
    pub(crate) group: Group,
    /// The order and width in which work-items run.
    pub(crate) schedule: Schedule,
    /// Local ids of the group's work-items: a row for each warp and dimension.
    pub(crate) local_ids: Vec<[[u64; WIDTH]; 3]>,
    /// The group size for which they were computed.
    pub(crate) local_ids_of: [u64; 3],
    pub(crate) stop: Option<Stop>,
    /// What loads outside of buffers do.
    pub(crate) strays: OutOfBoundsLoads,
    /// Remaining instruction budget.
    pub(crate) steps: u64,
    /// Number of work-items that entered each block of the code.
    pub(crate) entered: Vec<u64>,
    /// The lanes from which the next ones to run are chosen.
    pub(crate) chosen: u64,
    /// Number of possible changes to memory, counted in kernels that wait for them.
    pub(crate) changes: u64,
    /// Number of events created for asynchronous copies.
    pub(crate) events: u64,
    /// The printed output.
    pub(crate) printed: Vec<u8>,
    /// Whether the current instruction must leave the registers of inactive lanes unchanged.
    pub(crate) blends: bool,
    /// The observer of the launch; `None` while the observer itself runs.
    pub(crate) observer: Option<&'l mut (dyn Observer + 'l)>,
}

impl<'l> State<'l> {
    /// Calls the observer, if there is one. During the call the state has none.
    #[inline]
    pub(crate) fn observe<R>(
        &mut self,
        call: impl FnOnce(&mut (dyn Observer + 'l), &mut Self) -> R,
    ) -> Option<R> {
        // Taken out for the call, so that the observer and the state can both be borrowed.
        let observer = self.observer.take()?;
        let result = call(observer, self);
        self.observer = Some(observer);
        Some(result)
    }

    /// The address that a lane has in a register.
    #[inline]
    pub(crate) fn address(&self, register: u32, lane: usize) -> u64 {
        let addresses = self.warp.rows.words(register);
        addresses[if addresses.len() == 1 { 0 } else { lane }]
    }

    /// The storage of the object that an address points into; `None` if there is no object.
    pub(crate) fn home(&self, address: u64) -> Option<Home> {
        self.memory.object(self.memory.parts(address).0).map(|info| info.home)
    }

    /// Local linear id of a lane's work-item.
    #[inline]
    pub(crate) fn item(&self, lane: usize) -> u64 {
        u64::from(self.warp.first_item) + lane as u64
    }

    /// Makes a call with a present warp as the current one, and its lanes active.
    pub(crate) fn within<R>(&mut self, present: &mut Present<'_>, call: impl FnOnce(&mut Self) -> R) -> R {
        let mask = std::mem::replace(&mut self.mask, present.mask);
        std::mem::swap(&mut self.warp, present.warp);
        let result = call(self);
        std::mem::swap(&mut self.warp, present.warp);
        self.mask = mask;
        result
    }

    /// Parks lanes; the active mask is empty afterwards.
    pub(crate) fn park(&mut self, lane_group: LaneGroup) {
        self.warp.lane_groups.push(lane_group);
        self.mask = 0;
    }

    /// Whether the active lanes are the whole group, so that there is nothing to wait for.
    pub(crate) fn is_whole_group(&self) -> bool {
        let items = self.group.items() as usize;
        items <= self.schedule.warp && self.mask == first_lanes(items)
    }

    /// Stops at an instruction that has no defined result for a lane.
    pub(crate) fn fault(&mut self, inst: &Inst, lane: usize, message: String) -> bool {
        let item = self.warp.first_item + lane as u32;
        self.stop = Some(Stop::Fault(Fault { origin: inst.origin, item, message }));
        false
    }
}
