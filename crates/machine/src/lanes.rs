//! The locations of the lanes of a value.

use smallvec::SmallVec;

use crate::code::Register;

/// The location of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// None: the lane is undefined, so any content will do.
    Undefined,
    /// Part of the code, or the same for the whole launch: not in a work register.
    Constant,
    /// In a register, at this byte offset.
    In(Register, u8),
}

/// The lanes of a value, in order.
pub(crate) type Lanes = SmallVec<[Lane; 4]>;

/// The registers that hold the lanes, each once, in the order of the lanes.
pub(crate) fn registers(lanes: &[Lane]) -> SmallVec<[Register; 4]> {
    let mut found = SmallVec::new();
    for lane in lanes {
        if let Lane::In(register, _) = lane
            && !found.contains(register)
        {
            found.push(*register);
        }
    }
    found
}

/// The number of sources that lanes come from: registers, plus one if the code supplies some of them.
pub(crate) fn sources(lanes: &[Lane]) -> u32 {
    registers(lanes).len() as u32 + u32::from(lanes.contains(&Lane::Constant))
}

/// Whether the lanes, each of `bytes` bytes, are in one register in order, starting at a multiple of their total size.
/// Undefined lanes match any location.
pub(crate) fn in_order(lanes: &[Lane], bytes: u32) -> bool {
    let size = lanes.len().next_power_of_two() as u32 * bytes;
    let mut start = None;
    lanes.iter().enumerate().all(|(position, lane)| match lane {
        Lane::Undefined => true,
        Lane::Constant => false,
        Lane::In(register, byte) => {
            let Some(from) = u32::from(*byte).checked_sub(position as u32 * bytes) else { return false };
            from % size == 0 && *start.get_or_insert((*register, from)) == (*register, from)
        }
    })
}
