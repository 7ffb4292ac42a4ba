//! The shadows of a warp's registers.

use crate::execute::edge::{Edge, Move, SlotShape};
use crate::execute::rows::{WIDTH, lanes};

/// By register, a shadow for each component and lane; `None` where all are the default.
#[derive(Debug)]
pub(super) struct ShadowRegisters<V> {
    rows: Vec<Option<Box<[V]>>>,
}

impl<V: Copy + Default + PartialEq> ShadowRegisters<V> {
    pub(super) fn new(count: usize) -> Self {
        Self { rows: (0..count).map(|_| None).collect() }
    }

    pub(super) fn get(&self, slots: &[SlotShape], register: u32, component: usize, lane: usize) -> V {
        let position = slots[register as usize].position(component, lane);
        let row = self.rows[register as usize].as_ref();
        row.and_then(|row| row.get(position)).copied().unwrap_or_default()
    }

    pub(super) fn set(
        &mut self,
        slots: &[SlotShape],
        register: u32,
        component: usize,
        lane: usize,
        value: V,
    ) {
        let row = &mut self.rows[register as usize];
        if row.is_none() && value == V::default() {
            return;
        }
        let shape = slots[register as usize];
        let row = row.get_or_insert_with(|| vec![V::default(); shape.numbers()].into());
        if let Some(place) = row.get_mut(shape.position(component, lane)) {
            *place = value;
        }
    }

    /// Copies a register of one lane to all lanes of another.
    pub(super) fn splat(&mut self, slots: &[SlotShape], from: u32, to: u32) {
        let Some(row) = self.rows[from as usize].clone() else {
            self.rows[to as usize] = None;
            return;
        };
        for (component, value) in row.iter().enumerate() {
            for lane in 0..WIDTH {
                self.set(slots, to, component, lane, *value);
            }
        }
    }

    /// Moves registers along an edge for the lanes of a mask; `None` for all lanes.
    pub(super) fn follow(&mut self, slots: &[SlotShape], edge: &Edge, mask: Option<u64>) {
        for Move { from, to, last } in &edge.moves {
            if *last && mask.is_none() {
                self.rows.swap(*from as usize, *to as usize);
                continue;
            }
            let shape = slots[*to as usize];
            let Some(mask) = mask.filter(|_| !shape.single) else {
                self.rows[*to as usize] = self.rows[*from as usize].clone();
                continue;
            };
            for component in 0..shape.numbers() / WIDTH {
                for lane in lanes(mask) {
                    let value = self.get(slots, *from, component, lane);
                    self.set(slots, *to, component, lane, value);
                }
            }
        }
    }
}
