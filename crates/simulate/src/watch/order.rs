//! What orders work-groups: releases and acquires through atomics.
//!
//! A group that has made a release publishes itself, and all it is behind of, at the atomic's address; a group that
//! acquires there is behind all of those. OpenCL 1.x has no such words, but its idiom is the same: a fence, then an atomic,
//! and on the other side an atomic, then a fence.

use std::collections::{BTreeSet, HashMap};

use super::cells::Ordered;

/// The groups the current one is behind of, and what atomics have published.
#[derive(Debug, Default)]
pub(crate) struct Order {
    behind: BTreeSet<u32>,
    /// What was read by atomics that did not acquire: a fence makes up for that.
    seen: BTreeSet<u32>,
    published: HashMap<u64, BTreeSet<u32>>,
    group: u32,
    /// Whether a fence that releases was made: atomics behind it publish.
    fenced: bool,
}

impl Ordered for Order {
    fn behind(&self, group: u32) -> bool {
        // Which other groups read is not kept: ordered if the current one is behind any.
        if group == u32::MAX { !self.behind.is_empty() } else { self.behind.contains(&group) }
    }
}

impl Order {
    /// A group starts; it is behind nobody.
    pub(crate) fn start(&mut self, group: u32) {
        self.group = group;
        self.behind.clear();
        self.seen.clear();
        self.fenced = false;
    }

    /// A fence of global memory.
    pub(crate) fn fence(&mut self, acquires: bool, releases: bool) {
        if acquires {
            self.behind.append(&mut self.seen);
        }
        self.fenced |= releases;
    }

    /// An atomic on global memory.
    pub(crate) fn atomic(&mut self, address: u64, reads: bool, writes: bool, acquires: bool, releases: bool) {
        if reads && let Some(published) = self.published.get(&address) {
            if acquires {
                self.behind.extend(published.iter());
            } else {
                self.seen.extend(published.iter());
            }
        }
        if writes && (releases || self.fenced) {
            let published = self.published.entry(address).or_default();
            published.insert(self.group);
            published.extend(self.behind.iter());
        }
    }
}
