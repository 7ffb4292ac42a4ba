//! The order of accesses apart from barriers: releases and acquires through atomics.
//!
//! A release publishes the releasing side, and everything that is ordered before it, at the atomic's address; an
//! acquire there is ordered after all of these. OpenCL 1.x has no such operations, but its idiom is equivalent: a
//! fence, then an atomic, and on the other side an atomic, then a fence. Between work-groups, a group counts as a
//! whole; within one, each work-item counts.

use std::collections::{BTreeSet, HashMap};

use super::cells::Ordered;

/// Which groups and work-items are ordered after which others.
#[derive(Debug, Default)]
pub(crate) struct HappensBefore {
    groups: Sync,
    group: u32,
    /// By the number in the launch, for the work-items of the current group.
    items: HashMap<u32, Sync>,
    published_groups: HashMap<u64, BTreeSet<u32>>,
    published_items: HashMap<u64, BTreeSet<u32>>,
}

/// The knowledge of one side about others.
#[derive(Debug, Default)]
struct Sync {
    behind: BTreeSet<u32>,
    /// Read by atomics that did not acquire; a later acquiring fence adds it to `behind`.
    seen: BTreeSet<u32>,
    /// Whether there was a releasing fence: later atomics publish.
    fenced: bool,
}

impl Sync {
    fn fence(&mut self, acquires: bool, releases: bool) {
        if acquires {
            self.behind.append(&mut self.seen);
        }
        self.fenced |= releases;
    }

    fn atomic(&mut self, own: u32, published: &mut HashMap<u64, BTreeSet<u32>>, address: u64, what: Effect) {
        if what.reads
            && let Some(published) = published.get(&address)
        {
            let to = if what.acquires { &mut self.behind } else { &mut self.seen };
            to.extend(published.iter());
        }
        if what.writes && (what.releases || self.fenced) {
            let published = published.entry(address).or_default();
            published.insert(own);
            published.extend(self.behind.iter());
        }
    }
}

/// The effect of an atomic.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Effect {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

impl Ordered for HappensBefore {
    fn behind_group(&self, group: u32) -> bool {
        self.groups.behind.contains(&group)
    }

    fn behind_any_group(&self) -> bool {
        !self.groups.behind.is_empty()
    }

    fn behind_item(&self, item: u32, other: u32) -> bool {
        self.items.get(&item).is_some_and(|sync| sync.behind.contains(&other))
    }
}

impl HappensBefore {
    /// Starts a group, which is ordered after no other.
    pub(crate) fn start(&mut self, group: u32) {
        self.group = group;
        self.groups = Sync::default();
        self.items.clear();
        self.published_items.clear();
    }

    /// A fence by work-items.
    pub(crate) fn fence(&mut self, items: impl Iterator<Item = u32>, acquires: bool, releases: bool) {
        self.groups.fence(acquires, releases);
        for item in items {
            self.items.entry(item).or_default().fence(acquires, releases);
        }
    }

    /// Whether an atomic can order anything: not if there are no releases and no fences.
    pub(crate) fn heeds(&self, what: Effect) -> bool {
        what.releases || !self.items.is_empty() || !self.published_groups.is_empty()
    }

    /// An atomic by a work-item.
    pub(crate) fn atomic(&mut self, item: u32, address: u64, what: Effect) {
        self.groups.atomic(self.group, &mut self.published_groups, address, what);
        self.items.entry(item).or_default().atomic(item, &mut self.published_items, address, what);
    }
}
