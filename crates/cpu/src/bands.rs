//! Division of work into bands for the threads.

use std::sync::{Mutex, TryLockError};
use std::thread;

use crate::Threads;
use crate::helpers::helpers;

/// Work with less than this many bytes of output stays on the calling thread: waking another thread takes some ten
/// microseconds, in which a single core writes about as much.
const SMALL_BYTES: usize = 128 << 10;

/// Bytes of output in a band. Small enough that the rows a band shares with its neighbours are still in the cache (1
/// MiB of L2 per core is common) and that the threads end together; large enough that the cost of distributing bands is
/// negligible.
const BAND_BYTES: usize = 512 << 10;

/// The minimum number of bands for each thread: while one wakes up, the others have work, and at the end none waits long
/// for another.
const BANDS_PER_WORKER: usize = 4;

/// The number of rows of `row_bytes` output bytes in a band, a multiple of `step`; `None` when all `rows` are to be
/// done on the calling thread.
pub(super) fn band_rows(rows: usize, row_bytes: usize, step: usize, threads: Threads) -> Option<usize> {
    let small = rows.saturating_mul(row_bytes) <= SMALL_BYTES;
    let workers = if small { 1 } else { threads.count() };
    if workers == 1 {
        return None;
    }
    let fair = rows.div_ceil(BANDS_PER_WORKER * workers);
    Some((BAND_BYTES / row_bytes).clamp(1, fair).next_multiple_of(step))
}

/// Calls `band(first_row, rows)` for bands that together cover `dst`, whose rows have `row_len` elements. Every band
/// except the last has a multiple of `step` rows.
pub(super) fn for_each_band<T: Send>(
    dst: &mut [T],
    row_len: usize,
    step: usize,
    threads: Threads,
    band: impl Fn(usize, &mut [T]) + Sync,
) {
    if dst.is_empty() {
        return;
    }
    match band_rows(dst.len() / row_len, row_len * size_of::<T>(), step, threads) {
        None => band(0, dst),
        Some(rows) => {
            let bands = dst.chunks_mut(rows * row_len).enumerate();
            share_out(bands, threads, |(index, chunk)| band(index * rows, chunk));
        }
    }
}

/// Calls `work` with every item, on the calling thread and on those that help it.
pub(super) fn share_out<T: Send>(
    items: impl Iterator<Item = T> + Send,
    threads: Threads,
    work: impl Fn(T) + Sync,
) {
    share_out_with(items, threads, || (), |(), item| work(item));
}

/// As [`share_out`]; each thread that gets an item makes a state of its own first, and gets items in ascending order.
pub(super) fn share_out_with<T: Send, S>(
    items: impl Iterator<Item = T> + Send,
    threads: Threads,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) + Sync,
) {
    let most = threads.count() - 1;
    let Some(helpers) = helpers().filter(|_| most > 0) else {
        let mut items = items.peekable();
        if items.peek().is_some() {
            let mut state = state();
            items.for_each(|item| work(&mut state, item));
        }
        return;
    };
    let items = Mutex::new(items.peekable());
    helpers.share(most, &|lend| {
        // An item, and whether there are more. Taking one is short: a thread that sleeps meanwhile wakes up too late.
        let next = || {
            let mut items = loop {
                match items.try_lock() {
                    Ok(items) => break items,
                    Err(TryLockError::WouldBlock) => thread::yield_now(),
                    Err(TryLockError::Poisoned(_)) => return None,
                }
            };
            Some((items.next()?, items.peek().is_some()))
        };
        let mut own = None;
        while let Some((item, more)) = next() {
            if more {
                lend();
            }
            work(own.get_or_insert_with(&state), item);
        }
    });
}
