//! Bounds, alignment and permission of accesses.

use tripipe_ir::Space;
use tripipe_ir::diagnostic::{Rule, counted};
use tripipe_launch::Access;

use crate::execute::code::Inst;
use crate::execute::memory::Home;
use crate::execute::rows::lanes;
use crate::execute::state::State;
use crate::watch::findings::Occurrence;
use crate::watch::rules;
use crate::watch::state::{LeftArray, Watch};
use crate::watch::touch::{Touch, extremes};

impl Watch {
    /// Checks the addresses of the active lanes. Returns the lanes for which the access is possible, and whether all
    /// are within one object.
    pub(crate) fn possible(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) -> (u64, bool) {
        let (low, high, bits) = extremes(s, touch.pointer);
        let (object, offset) = s.memory.parts(low);
        let near = s.memory.parts(high).0 == object;
        let inside = near
            && s.memory.object(object).is_some_and(|info| {
                let end = s.memory.parts(high).1.checked_add(touch.bytes as i64);
                info.home != Home::Null
                    && offset >= 0
                    && end.is_some_and(|end| end.cast_unsigned() <= info.bytes)
            });
        let left = self.left(s, i, touch);
        let aligned = bits & u64::from(touch.align - 1) == 0;
        let dead = self.dead_lanes(s, s.home(low)) & s.mask != 0;
        let settled = inside && aligned && left.is_none() && !dead;
        let good = if settled { s.mask } else { self.one_by_one(s, i, touch, left) };
        (good, inside)
    }

    /// The lanes whose pointer has left an inner array.
    fn left(&self, s: &State<'_>, i: &Inst, touch: &Touch) -> Option<LeftArray> {
        if self.left.is_empty() {
            return None;
        }
        let pointer = s.kernel.insts[i.origin].operands.get(touch.operand)?;
        self.left.get(&(s.warp.first_item, *pointer)).copied().filter(|left| left.lanes & s.mask != 0)
    }

    /// Checks each active lane. Returns the lanes for which the access is possible.
    fn one_by_one(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, left: Option<LeftArray>) -> u64 {
        let mut good = s.mask;
        let what = if touch.writes { "writes" } else { "reads" };
        let bytes = touch.bytes as u64;
        let counted_bytes = || counted(touch.bytes, "byte");
        for lane in lanes(s.mask) {
            let address = s.address(touch.pointer, lane);
            let (object, offset) = s.memory.parts(address);
            let found = |message: String, fix: &str| {
                let memory = s.memory.accessed(object, offset, bytes);
                Occurrence::new(&s.group, s.item(lane), message, fix).of(memory)
            };
            let info = s.memory.object(object).filter(|info| info.home != Home::Null);
            let Some(info) = info else {
                good &= !(1 << lane);
                let null = object == 0 || (offset.unsigned_abs() < 1 << 20 && object >= 0xffff);
                if null {
                    self.note(&rules::NULL_POINTER, i, 1, || {
                        let message = format!("{what} {} through a null pointer", counted_bytes());
                        found(message, "Pass a buffer, or test the pointer before it is used.")
                    });
                } else {
                    self.note(&rules::DANGLING_POINTER, i, 1, || {
                        let message =
                            format!("{what} {} at {address:#x}, where there is no object", counted_bytes());
                        let fix = "Derive pointers from the address of an object, and use them only in the \
                            launch that made them.";
                        found(message, fix)
                    });
                }
                continue;
            };
            let name = &info.name;
            let end = offset.checked_add(bytes.cast_signed());
            if offset < 0 || end.is_none_or(|end| end.cast_unsigned() > info.bytes) {
                good &= !(1 << lane);
                if let Some(watched) = self.objects.get_mut(object as usize) {
                    let reach = end.filter(|_| offset >= 0).map_or(u64::MAX, i64::cast_unsigned);
                    watched.reach = watched.reach.max(reach);
                }
                let rule: &'static Rule =
                    if touch.writes { &rules::OUT_OF_BOUNDS_WRITE } else { &rules::OUT_OF_BOUNDS_READ };
                let size = info.bytes;
                self.note(rule, i, 1, || {
                    let message = format!(
                        "{what} {} at offset {offset} of `{name}`, which has {}",
                        counted_bytes(),
                        counted(size as usize, "byte")
                    );
                    let fix = if offset < 0 {
                        "Keep the index at 0 or above: clamp it, or exclude work-items at the edge."
                    } else {
                        "Compare the index with the size before the access, or make the object larger."
                    };
                    found(message, fix)
                });
            } else if self.dead_lanes(s, Some(info.home)) >> lane & 1 == 1 {
                self.note(&rules::DANGLING_POINTER, i, 1, || {
                    let message = format!("{what} {} of `{name}`, whose block has ended", counted_bytes());
                    found(message, "Declare the variable in a block that outlives the pointers to it.")
                });
            } else if let Some(left) = left.filter(|left| left.lanes >> lane & 1 == 1) {
                self.note(&rules::INNER_ARRAY_BOUNDS, i, 1, || {
                    let message = format!(
                        "{what} `{name}` through index {} of an inner array of {} elements",
                        left.index, left.count
                    );
                    let fix =
                        "Keep the index within the inner array: the bytes after it belong to its neighbour.";
                    found(message, fix)
                });
            } else if !offset.cast_unsigned().is_multiple_of(u64::from(touch.align)) {
                let align = touch.align;
                let (rule, fix): (&'static Rule, &str) = if touch.vector_builtin {
                    (
                        &rules::MISALIGNED_VECTOR,
                        "vloadN and vstoreN need an address that is a multiple of the element's size.",
                    )
                } else {
                    (
                        &rules::MISALIGNED_ACCESS,
                        "Use vloadN or vstoreN, which need the element's alignment only, or align the data.",
                    )
                };
                self.note(rule, i, 1, || {
                    let message = format!(
                        "{what} {} at offset {offset} of `{name}`, which is not a multiple of {align}",
                        counted_bytes()
                    );
                    found(message, fix)
                });
            }
        }
        good
    }

    /// The lanes for which the lifetime of the variable with this storage has ended.
    fn dead_lanes(&self, s: &State<'_>, home: Option<Home>) -> u64 {
        match home {
            Some(Home::Private(index)) => {
                self.shadow(s).private_dead.get(index as usize).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Checks the permissions of an object. Returns the lanes for which the access is possible.
    pub(crate) fn permitted(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        touch: &Touch,
        object: u32,
        mask: u64,
    ) -> u64 {
        let Some(watched) = self.objects.get(object as usize) else { return mask };
        let Some(info) = s.memory.object(object) else { return mask };
        let forbidden = match (watched.access, touch.writes) {
            (Access::Read, true) => Some("it was created read-only (CL_MEM_READ_ONLY)"),
            _ if touch.writes && watched.read_only => Some("the kernel declares it const"),
            _ if touch.writes && info.space == Space::Constant && !matches!(info.home, Home::Local(_)) => {
                Some("it is in constant memory")
            }
            _ => None,
        };
        if mask == 0 {
            return 0;
        }
        let lane = mask.trailing_zeros() as usize;
        let found = |message: String, fix: &str| {
            let offset = s.memory.parts(s.address(touch.pointer, lane)).1;
            let memory = s.memory.accessed(object, offset, touch.bytes as u64);
            Occurrence::new(&s.group, s.item(lane), message, fix).of(memory)
        };
        let count = u64::from(mask.count_ones());
        if let Some(why) = forbidden {
            self.note(&rules::READ_ONLY_WRITE, i, count, || {
                let fix = "Create the buffer with CL_MEM_READ_WRITE and declare the pointer without const, or \
                    write to another buffer.";
                found(format!("writes `{}`, but {why}", info.name), fix)
            });
            return if info.space == Space::Constant { 0 } else { mask };
        }
        if touch.reads && !touch.puts_back && watched.access == Access::Write {
            self.note(&rules::WRITE_ONLY_READ, i, count, || {
                let message =
                    format!("reads `{}`, which was created write-only (CL_MEM_WRITE_ONLY)", info.name);
                found(message, "Create the buffer with CL_MEM_READ_WRITE.")
            });
        }
        mask
    }
}
