//! Messages: how they pass their pipe, and what they wait for.

use super::{Engine, LOCAL_LINES, PRIVATE_LINES};
use crate::activity::{CoreSeries, PipeTransit};
use crate::cache::LINE_BYTES;
use crate::memory::{Route, ticks};
use crate::play::{Kind, Line, MessageAddresses};
use crate::program::Message;
use crate::resident::Warp;

impl Engine<'_> {
    pub(super) fn message(&mut self, warp: &mut Warp, message: &Message, at: u64) -> u64 {
        let sent = warp.play.sent.get(warp.message).copied().unwrap_or_default();
        warp.message += 1;
        let first = warp.line;
        warp.line += usize::from(sent.lines);
        let before = self.recorder.as_ref().map(|_| self.memory.traffic);
        let passage = self.transfer(warp, message, sent, first, at);
        let next = self.awaited(warp, message, passage);
        if let (Some(recorder), Some(before)) = (&mut self.recorder, before) {
            let lines = &warp.play.lines[first..first + usize::from(sent.lines)];
            recorder.message(warp, (sent, lines), passage, [at, next], [before, self.memory.traffic]);
        }
        next
    }

    /// Enters the result of a message; returns the time at which the warp goes on.
    fn awaited(&self, warp: &mut Warp, message: &Message, passage: PipeTransit) -> u64 {
        let PipeTransit { issued, done, .. } = passage;
        // A thread of Midgard waits for each word, so nothing is pending.
        if self.figures.messages_in_flight < 1.0 {
            return done;
        }
        for register in &message.writes {
            // An earlier iteration's result in the same register is gone.
            warp.pending.retain(|(other, _)| other != register);
            warp.pending.push((*register, done));
        }
        // The scoreboard is full. The warp goes on when its first result arrives.
        if !message.writes.is_empty() && warp.pending.len() as f64 > self.figures.messages_in_flight {
            let earliest = warp.pending.iter().map(|(_, time)| *time).min().unwrap_or(issued);
            warp.pending.retain(|(_, time)| *time > earliest);
            return issued.max(earliest);
        }
        issued
    }

    /// The pipe that a message occupies, as a quantity of [`CoreSeries`], and for how many ticks.
    pub(super) fn occupies(&self, message: &Message, sent: MessageAddresses, lines: &[Line]) -> (usize, u64) {
        if message.texture {
            let clocks = (f64::from(sent.texels) / 4.0 / self.shape.texels_per_clock).max(1.0);
            return (CoreSeries::TEXTURE, ticks(clocks));
        }
        let local = lines.first().is_some_and(|line| line.kind() == Kind::Local);
        if local && self.shape.local_dedicated {
            // A request that reads the same as the one before is only returned.
            let same = lines.windows(2).filter(|pair| pair[0].number() == pair[1].number()).count();
            let other = (lines.len() - same) as f64 / self.figures.local_bytes_per_clock.max(1.0);
            let same = same as f64 / self.figures.local_returned_bytes_per_clock.max(1.0);
            return (CoreSeries::LOCAL, ticks(((other + same) * LINE_BYTES as f64).max(1.0)));
        }
        // A vector that is wider than the pipe takes several clocks, even if it is within one line.
        let mut clocks = (lines.len() as f64).max(message.clocks) / self.shape.lines_per_clock;
        if !lines.is_empty() && self.figures.load_store_items_per_clock > 0.0 {
            clocks = clocks.max(f64::from(sent.lanes) / self.figures.load_store_items_per_clock);
        }
        (CoreSeries::LOAD_STORE, ticks(clocks))
    }

    /// When a message passes its pipe, and when its result is there.
    fn transfer(
        &mut self,
        warp: &Warp,
        message: &Message,
        sent: MessageAddresses,
        first: usize,
        at: u64,
    ) -> PipeTransit {
        let lines = &warp.play.lines[first..first + usize::from(sent.lines)];
        let (series, ticks_of_pipe) = self.occupies(message, sent, lines);
        let on = &mut self.cores[warp.core];
        let pipe = match series {
            CoreSeries::TEXTURE => &mut on.texture,
            CoreSeries::LOCAL => &mut on.local,
            _ => &mut on.load_store,
        };
        let start = pipe.serve(at, ticks_of_pipe);
        let end = start + ticks_of_pipe;
        let issued = end;
        if series == CoreSeries::TEXTURE {
            let mut done = issued + self.times.texture;
            for line in lines {
                done = done.max(self.memory.read(warp.core, line.number(), true, start, Route::Texture));
            }
            return PipeTransit { series, start, end, issued, done };
        }
        if series == CoreSeries::LOCAL {
            // Work-items that share an address take turns.
            let clash = ticks(f64::from(sent.clashes) * self.figures.atomic_clocks);
            return PipeTransit { series, start, end, issued, done: issued + self.times.local + clash };
        }
        let mut done = issued;
        let slot = u64::from(self.groups[warp.group].slot);
        // 4096 lines, 256 KiB, for each place of a core: more than any local memory.
        let own = (warp.core as u64 * 256 + slot) << 12;
        let mut accepted = issued;
        let mut last = None;
        for line in lines {
            let number = match line.kind() {
                Kind::Global | Kind::Texture => line.number(),
                Kind::Local => LOCAL_LINES + own + line.number(),
                Kind::Private => {
                    let warp = (warp.core as u64 * 256 + slot) * 256 + u64::from(warp.index);
                    PRIVATE_LINES + warp * self.shape.private_lines + line.number()
                }
            };
            if sent.clashes > 0 && line.kind() == Kind::Global {
                // Requests for a line that the one before had operate on other work-items of the same address.
                let again = last.replace(number) == Some(number);
                let clashes = if again { 0.0 } else { f64::from(sent.clashes) };
                let time = clashes * self.figures.atomic_clocks / self.shape.atomics_per_clock;
                let end = self.memory.atomic(warp.core, number, start, ticks(time));
                (done, accepted) = (done.max(end), accepted.max(end));
            } else if line.writes() {
                accepted = accepted.max(self.memory.write(warp.core, number, line.is_whole(), start));
            } else {
                done =
                    done.max(self.memory.read(warp.core, number, line.is_whole(), start, Route::LoadStore));
            }
        }
        // Modified lines and atomic operations wait in a buffer; a warp waits when it is full.
        let issued = issued.max(accepted.saturating_sub(self.times.slack));
        if message.writes.is_empty() {
            done = done.max(issued + self.times.store);
        } else {
            done = done.max(issued + self.times.load);
        }
        PipeTransit { series, start, end, issued, done }
    }
}
