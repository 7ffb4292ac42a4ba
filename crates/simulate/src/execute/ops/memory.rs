//! Addresses, loads and stores.
//!
//! The addresses of a warp are mostly contiguous, or at least in one object, so the object's bytes are looked up
//! once.

use bytemuck::Pod;
use tripipe_ir::diagnostic::counted;
use tripipe_ir::{Op, Scalar, Space};

use super::map::{binary, by_width, unary};
use super::pattern::{Pattern, pattern};
use crate::execute::code::{Detail, Inst, Run, value_bytes};
use crate::execute::memory::{Home, pointer};
use crate::execute::memory_map::MemoryMap;
use crate::execute::rows::{WIDTH, first_lanes, lanes, numbers, numbers_mut};
use crate::execute::state::{OutOfBoundsLoads, State, Stop};

/// The pointer to a private or local object of the kernel.
pub(super) fn object_address(s: &mut State<'_>, i: &Inst) -> bool {
    let Detail::Number(object) = i.detail else { return true };
    s.warp.rows.words_mut(i.out).fill(pointer(MemoryMap::kernel_object(object as u32), 0));
    true
}

/// The pointer to an object of the program.
pub(super) fn program_address(s: &mut State<'_>, i: &Inst) -> bool {
    let Detail::Number(object) = i.detail else { return true };
    s.warp.rows.words_mut(i.out).fill(pointer(s.memory_map.program_object(object as u32), 0));
    true
}

/// The same pointer if it is in the wanted address space, else null.
pub(super) fn checked_cast(s: &mut State<'_>, i: &Inst) -> bool {
    let Detail::Number(wanted) = i.detail else { return true };
    let mut out = s.warp.rows.take(i.out);
    for (out, from) in out.iter_mut().zip(s.warp.rows.words(i.args[0])) {
        let space = s.memory.object(s.memory.parts(*from).0).map(|object| object.space);
        let fits = space.is_some_and(|space| space as u64 == wanted) || wanted == Space::Generic as u64;
        *out = if fits { *from } else { 0 };
    }
    s.warp.rows.put(i.out, out);
    true
}

/// `base + index * stride + offset`
pub(super) fn address(stride: u64, index: Option<Scalar>) -> Run {
    match index {
        _ if stride == 0 => |s, i| {
            let Detail::Address { offset, .. } = i.detail else { return true };
            unary::<u64, u64>(s, i, |base| base.wrapping_add_signed(offset))
        },
        // 64-bit products are slow in vectors; shifts are fast.
        Some(Scalar::I64) if stride.is_power_of_two() => |s, i| {
            let Detail::Address { stride, offset } = i.detail else { return true };
            let shift = stride.trailing_zeros();
            binary::<u64, u64, u64>(s, i, |base, index| {
                base.wrapping_add(index << shift).wrapping_add_signed(offset)
            })
        },
        Some(Scalar::I64) => |s, i| {
            let Detail::Address { stride, offset } = i.detail else { return true };
            binary::<u64, u64, u64>(s, i, |base, index| {
                base.wrapping_add(index.wrapping_mul(stride)).wrapping_add_signed(offset)
            })
        },
        _ => |s, i| {
            let Detail::Address { stride, offset } = i.detail else { return true };
            binary::<u64, i32, u64>(s, i, |base, index| {
                base.wrapping_add(i64::from(index).cast_unsigned().wrapping_mul(stride))
                    .wrapping_add_signed(offset)
            })
        },
    }
}

/// Reads numbers in groups of eight: each group starts at the next of `starts`, with numbers `step` bytes apart.
fn read_eights<T: Pod>(from: &[u8], starts: impl Iterator<Item = usize>, step: usize, out: &mut [T]) {
    /// With a step known at compile time.
    #[allow(clippy::inline_always, reason = "else the step is not known")]
    #[inline(always)]
    fn read<T: Pod>(from: &[u8], starts: impl Iterator<Item = usize>, step: usize, out: &mut [T]) {
        let size = size_of::<T>();
        for (out, start) in out.chunks_mut(8).zip(starts) {
            let from = &from[start..start + (out.len() - 1) * step + size];
            let number = |lane: usize| bytemuck::pod_read_unaligned(&from[lane * step..lane * step + size]);
            // With a fixed number of elements the compiler makes vector code.
            if let Ok(eight) = <&mut [T; 8]>::try_from(&mut *out) {
                *eight = std::array::from_fn(number);
            } else {
                out.iter_mut().enumerate().for_each(|(lane, out)| *out = number(lane));
            }
        }
    }
    let size = size_of::<T>();
    // Steps of up to four numbers are frequent: components of vectors, channels of pixels.
    match step {
        _ if step == size => read(from, starts, size, out),
        _ if step == 2 * size => read(from, starts, 2 * size, out),
        _ if step == 3 * size => read(from, starts, 3 * size, out),
        _ if step == 4 * size => read(from, starts, 4 * size, out),
        _ => read(from, starts, step, out),
    }
}

/// Writes numbers `step` bytes apart; where they overlap, the last one wins.
fn write_steps<T: Pod>(to: &mut [u8], step: usize, value: &[T]) {
    /// With a step known at compile time.
    #[allow(clippy::inline_always, reason = "else the step is not known")]
    #[inline(always)]
    fn write<T: Pod>(to: &mut [u8], step: usize, value: &[T]) {
        let size = size_of::<T>();
        for (lane, value) in value.iter().enumerate() {
            to[lane * step..lane * step + size].copy_from_slice(bytemuck::bytes_of(value));
        }
    }
    let size = size_of::<T>();
    match step {
        _ if step == size => to.copy_from_slice(bytemuck::cast_slice(value)),
        _ if step == 2 * size => write(to, 2 * size, value),
        _ if step == 3 * size => write(to, 3 * size, value),
        _ if step == 4 * size => write(to, 4 * size, value),
        _ => write(to, step, value),
    }
}

pub(super) fn load(scalar: Scalar) -> Run {
    by_width!(scalar.bytes(), load_as)
}

pub(super) fn store(scalar: Scalar) -> Run {
    by_width!(scalar.bytes(), store_as)
}

/// The private object that a pointer refers to; `None` for other objects.
pub(super) fn is_private(s: &State<'_>, address: u64) -> Option<u32> {
    match s.home(address)? {
        Home::Private(index) => Some(index),
        _ => None,
    }
}

fn load_as<T: Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let done = load_into::<T>(s, i, numbers_mut::<T>(&mut out));
    s.warp.rows.put(i.out, out);
    done
}

fn load_into<T: Pod>(s: &mut State<'_>, i: &Inst, out: &mut [T]) -> bool {
    let size = size_of::<T>();
    let components = usize::from(i.components);
    let bytes = size * components;
    let width = usize::from(i.width);
    match pattern(s, i) {
        Pattern::Same(address) => {
            if let Some(index) = is_private(s, address) {
                return load_private(s, i, index, address, out);
            }
            let (object, offset) = s.memory.parts(address);
            let Some(from) = s.memory.read(object, offset, bytes) else {
                if !strays(s, i, s.mask.trailing_zeros() as usize, address, bytes) {
                    return false;
                }
                // Component by component, because a vector may be partly inside.
                for component in 0..components {
                    let value: T = inside_or_zero(s, address, component);
                    out[component * width..(component + 1) * width].fill(value);
                }
                return true;
            };
            for (component, from) in from.chunks_exact(size).enumerate() {
                out[component * width..(component + 1) * width].fill(bytemuck::pod_read_unaligned(from));
            }
            return true;
        }
        Pattern::Steps { first, step, count } => {
            let (object, offset) = s.memory.parts(first);
            // If not all bytes are inside, the lanes below find the first that is outside.
            if let Some(from) = s.memory.read(object, offset, step * (count - 1) + bytes) {
                if components == 1 && step == size {
                    bytemuck::cast_slice_mut::<T, u8>(&mut out[..count]).copy_from_slice(from);
                } else if components == 1 {
                    read_eights(from, (0..).map(|eight| 8 * step * eight), step, &mut out[..count]);
                } else {
                    for lane in 0..count {
                        let from = &from[lane * step..lane * step + bytes];
                        for (component, from) in from.chunks_exact(size).enumerate() {
                            out[component * WIDTH + lane] = bytemuck::pod_read_unaligned(from);
                        }
                    }
                }
                return true;
            }
        }
        Pattern::Eights { lowest, span, step } => {
            let (object, offset) = s.memory.parts(lowest);
            let addresses = s.warp.rows.words(i.args[0]);
            if let Some(from) = s.memory.read(object, offset, span + bytes) {
                let starts = addresses.iter().step_by(8).map(|address| (address - lowest) as usize);
                if components == 1 {
                    read_eights(from, starts, step, &mut out[..WIDTH]);
                    return true;
                }
                for (eight, at) in starts.enumerate() {
                    let from = &from[at..at + 7 * step + bytes];
                    for component in 0..components {
                        for (lane, out) in out[component * WIDTH + 8 * eight..][..8].iter_mut().enumerate() {
                            let at = lane * step + component * size;
                            *out = bytemuck::pod_read_unaligned(&from[at..at + size]);
                        }
                    }
                }
                return true;
            }
        }
        Pattern::Near { lowest, span } => {
            let (object, offset) = s.memory.parts(lowest);
            let addresses = s.warp.rows.words(i.args[0]);
            let mask = s.mask;
            if let Some(from) = s.memory.read(object, offset, span + bytes) {
                if mask == u64::MAX && components == 1 {
                    for (out, address) in out.iter_mut().zip(addresses) {
                        let at = (address - lowest) as usize;
                        *out = bytemuck::pod_read_unaligned(&from[at..at + size]);
                    }
                    return true;
                }
                for lane in lanes(mask) {
                    let at = (addresses[lane] - lowest) as usize;
                    let from = &from[at..at + bytes];
                    for (component, from) in from.chunks_exact(size).enumerate() {
                        out[component * WIDTH + lane] = bytemuck::pod_read_unaligned(from);
                    }
                }
                return true;
            }
        }
        Pattern::Apart => {}
    }
    // Private memory, several objects, or a lane that is outside.
    for lane in lanes(s.mask) {
        let address = s.warp.rows.words(i.args[0])[lane];
        let (object, offset) = s.memory.parts(address);
        if let Some(index) = is_private(s, address) {
            let private = &s.warp.privates[index as usize];
            let Some(offset) = private.inside(offset, bytes) else {
                return outside(s, i, lane, address, bytes, false);
            };
            for component in 0..components {
                out[component * WIDTH + lane] = private.read(offset + component * size, lane);
            }
            continue;
        }
        let Some(from) = s.memory.read(object, offset, bytes) else {
            if !strays(s, i, lane, address, bytes) {
                return false;
            }
            for component in 0..components {
                out[component * WIDTH + lane] = inside_or_zero(s, address, component);
            }
            continue;
        };
        for (component, from) in from.chunks_exact(size).enumerate() {
            out[component * WIDTH + lane] = bytemuck::pod_read_unaligned(from);
        }
    }
    true
}

/// Whether a load that is not inside of one object goes on: one of a buffer, in a launch that tolerates it. Otherwise the
/// launch stops.
fn strays(s: &mut State<'_>, i: &Inst, lane: usize, address: u64, bytes: usize) -> bool {
    let of_buffer = matches!(s.home(address), Some(Home::Global(_)));
    let OutOfBoundsLoads::Zeros(known) = &s.strays else { return outside(s, i, lane, address, bytes, false) };
    // Only the first one is reported, and making its message is slow.
    if of_buffer && known.is_some() {
        return true;
    }
    outside(s, i, lane, address, bytes, false);
    // `outside` makes the message, but the launch is not to stop.
    match s.stop.take() {
        Some(Stop::Fault(fault)) if of_buffer => s.strays = OutOfBoundsLoads::Zeros(Some((s.group, fault))),
        stop => s.stop = stop,
    }
    of_buffer
}

/// A component of a value at an address, or 0 if it is outside of its object.
fn inside_or_zero<T: Pod>(s: &mut State<'_>, address: u64, component: usize) -> T {
    let (object, offset) = s.memory.parts(address);
    let offset = offset.saturating_add_unsigned((component * size_of::<T>()) as u64);
    s.memory.read(object, offset, size_of::<T>()).map_or_else(T::zeroed, bytemuck::pod_read_unaligned)
}

/// Loads all lanes from the same offset of a private object.
fn load_private<T: Pod>(s: &mut State<'_>, i: &Inst, index: u32, address: u64, out: &mut [T]) -> bool {
    let size = size_of::<T>();
    let components = usize::from(i.components);
    let private = &s.warp.privates[index as usize];
    let Some(offset) = private.inside(s.memory.parts(address).1, size * components) else {
        return outside(s, i, s.mask.trailing_zeros() as usize, address, size * components, false);
    };
    for (component, out) in out.chunks_exact_mut(WIDTH).take(components).enumerate() {
        let offset = offset + component * size;
        // Inactive lanes are read too, because every lane has the object.
        if let Some(row) = private.row(offset, size) {
            bytemuck::cast_slice_mut::<T, u8>(out).copy_from_slice(row);
        } else {
            for lane in lanes(s.mask) {
                out[lane] = private.read(offset, lane);
            }
        }
    }
    true
}

fn store_as<T: Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    // The same register is both address and value: a pointer stored at its own target.
    if i.args[0] == i.args[1] {
        let value = s.warp.rows.words(i.args[1]).to_vec();
        return store_from::<T>(s, i, numbers::<T>(&value));
    }
    let value = s.warp.rows.take(i.args[1]);
    let done = store_from::<T>(s, i, numbers::<T>(&value));
    s.warp.rows.put(i.args[1], value);
    done
}

fn store_from<T: Pod>(s: &mut State<'_>, i: &Inst, value: &[T]) -> bool {
    let size = size_of::<T>();
    let components = usize::from(i.components);
    let bytes = size * components;
    match pattern(s, i) {
        Pattern::Same(address) => {
            if let Some(index) = is_private(s, address) {
                return store_private(s, i, index, address, value);
            }
            // The last lane's value wins.
            let lane = WIDTH - 1 - s.mask.leading_zeros() as usize;
            let (object, offset) = s.memory.parts(address);
            let Some(to) = s.memory.write(object, offset, bytes) else {
                return outside(s, i, s.mask.trailing_zeros() as usize, address, bytes, true);
            };
            for (component, to) in to.chunks_exact_mut(size).enumerate() {
                to.copy_from_slice(bytemuck::bytes_of(&value[component * WIDTH + lane]));
            }
            return true;
        }
        // Steps shorter than the value overlap: the higher lane's bytes win, because they are written last.
        Pattern::Steps { first, step, count } => {
            let (object, offset) = s.memory.parts(first);
            if let Some(to) = s.memory.write(object, offset, step * (count - 1) + bytes) {
                if components == 1 {
                    write_steps(to, step, &value[..count]);
                } else {
                    for lane in 0..count {
                        let to = &mut to[lane * step..lane * step + bytes];
                        for (component, to) in to.chunks_exact_mut(size).enumerate() {
                            to.copy_from_slice(bytemuck::bytes_of(&value[component * WIDTH + lane]));
                        }
                    }
                }
                return true;
            }
        }
        Pattern::Eights { lowest, span, step } if components == 1 => {
            let (object, offset) = s.memory.parts(lowest);
            let addresses = s.warp.rows.words(i.args[0]);
            if let Some(to) = s.memory.write(object, offset, span + bytes) {
                for (value, address) in value.as_chunks::<8>().0.iter().zip(addresses.iter().step_by(8)) {
                    let at = (address - lowest) as usize;
                    write_steps(&mut to[at..at + 7 * step + size], step, value);
                }
                return true;
            }
        }
        Pattern::Near { lowest, span } | Pattern::Eights { lowest, span, .. } => {
            let (object, offset) = s.memory.parts(lowest);
            let addresses = s.warp.rows.words(i.args[0]);
            let mask = s.mask;
            if let Some(to) = s.memory.write(object, offset, span + bytes) {
                for lane in lanes(mask) {
                    let at = (addresses[lane] - lowest) as usize;
                    for (component, to) in to[at..at + bytes].chunks_exact_mut(size).enumerate() {
                        to.copy_from_slice(bytemuck::bytes_of(&value[component * WIDTH + lane]));
                    }
                }
                return true;
            }
        }
        Pattern::Apart => {}
    }
    for lane in lanes(s.mask) {
        let address = s.address(i.args[0], lane);
        let (object, offset) = s.memory.parts(address);
        if let Some(index) = is_private(s, address) {
            let private = &mut s.warp.privates[index as usize];
            let Some(offset) = private.inside(offset, bytes) else {
                return outside(s, i, lane, address, bytes, true);
            };
            for component in 0..components {
                private.write(offset + component * size, lane, value[component * WIDTH + lane]);
            }
            continue;
        }
        let Some(to) = s.memory.write(object, offset, bytes) else {
            return outside(s, i, lane, address, bytes, true);
        };
        for (component, to) in to.chunks_exact_mut(size).enumerate() {
            to.copy_from_slice(bytemuck::bytes_of(&value[component * WIDTH + lane]));
        }
    }
    true
}

fn store_private<T: Pod>(s: &mut State<'_>, i: &Inst, index: u32, address: u64, value: &[T]) -> bool {
    let size = size_of::<T>();
    let components = usize::from(i.components);
    let mask = s.mask;
    let private = &mut s.warp.privates[index as usize];
    let Some(offset) = private.inside(s.memory.parts(address).1, size * components) else {
        return outside(s, i, mask.trailing_zeros() as usize, address, size * components, true);
    };
    for (component, value) in value.chunks_exact(WIDTH).take(components).enumerate() {
        let offset = offset + component * size;
        // A row has all lanes, but an inactive lane's object must not change.
        if mask == u64::MAX
            && let Some(row) = private.row_mut(offset, size)
        {
            row.copy_from_slice(bytemuck::cast_slice(value));
        } else {
            for lane in lanes(mask) {
                private.write(offset, lane, value[lane]);
            }
        }
    }
    true
}

/// Reports an access outside an object.
pub(super) fn outside(
    s: &mut State<'_>,
    i: &Inst,
    lane: usize,
    address: u64,
    bytes: usize,
    write: bool,
) -> bool {
    let (object, offset) = s.memory.parts(address);
    let what = format!("{} {}", if write { "writes" } else { "reads" }, counted(bytes, "byte"));
    let message = match s.memory.object(object) {
        Some(info) if info.home != Home::Null => {
            let size = counted(info.bytes as usize, "byte");
            format!("{what} at offset {offset} of `{}`, which has {size}", info.name)
        }
        Some(_) => format!("{what} through a null pointer"),
        None => format!("{what} at {address:#x}, where there is no object"),
    };
    s.fault(i, lane, message)
}

/// Only checks that a load, store or atomic stays inside its object.
pub(crate) fn reach(s: &mut State<'_>, i: &Inst) -> bool {
    let data = &s.kernel.insts[i.origin];
    let value = match data.op {
        Op::Load(_) => data.result,
        Op::Store(_) | Op::Atomic(_) => data.operands.get(1).copied().or(data.result),
        _ => return true,
    };
    let bytes = value.map_or(1, |value| value_bytes(s.kernel.ty(value)) as usize);
    let write = !matches!(data.op, Op::Load(_));
    if all_inside(s, i.args[0], bytes as u64) {
        return true;
    }
    for lane in lanes(s.mask) {
        let address = s.address(i.args[0], lane);
        let (object, offset) = s.memory.parts(address);
        let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(bytes));
        let inside = s
            .memory
            .object(object)
            .is_some_and(|info| info.home != Home::Null && end.is_some_and(|end| end as u64 <= info.bytes));
        let goes_on = match (inside, write) {
            (true, _) => true,
            (false, true) => outside(s, i, lane, address, bytes, write),
            (false, false) => strays(s, i, lane, address, bytes),
        };
        if !goes_on {
            return false;
        }
    }
    true
}

/// Whether the addresses of all active lanes are inside one object with so many bytes from each on, as nearly always; `false` also
/// where that takes a search.
fn all_inside(s: &State<'_>, register: u32, bytes: u64) -> bool {
    let count = s.mask.count_ones() as usize;
    let addresses = match s.warp.rows.words(register) {
        alone @ [_] => alone,
        own if s.mask == first_lanes(count) => &own[..count],
        _ => return false,
    };
    let Some(object) = addresses.first().map(|first| s.memory.parts(*first).0) else { return false };
    let Some(info) = s.memory.object(object).filter(|info| info.home != Home::Null) else { return false };
    let Some(most) = info.bytes.checked_sub(bytes) else { return false };
    addresses.iter().all(|address| {
        let (other, offset) = s.memory.parts(*address);
        other == object && u64::try_from(offset).is_ok_and(|offset| offset <= most)
    })
}
