//! Where the lanes of a value lie.

use smallvec::SmallVec;

use crate::code::Register;

/// Where one lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Nowhere: nobody has written it, anything will do.
    Undefined,
    /// Part of the code, or the same for the whole launch: in no work register.
    Constant,
    /// In a register, from that byte on.
    In(Register, u8),
}

/// The lanes of a value, in order.
pub(crate) type Lanes = SmallVec<[Lane; 4]>;

/// The registers that lanes lie in, each once, in the order of the lanes.
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

/// From how many places lanes come: registers, and the code if it gives some of them.
pub(crate) fn sources(lanes: &[Lane]) -> u32 {
    registers(lanes).len() as u32 + u32::from(lanes.contains(&Lane::Constant))
}

/// Whether the lanes, each of so many bytes, lie in one register in their order, from a place that is a multiple of
/// their size together; lanes that nobody has written lie anywhere.
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
