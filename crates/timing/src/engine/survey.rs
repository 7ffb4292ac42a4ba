//! Counts what follows from the code and the addresses of work-groups, without playing them.

use smallvec::SmallVec;

use super::Engine;
use crate::activity::PipeTransit;
use crate::play::{Play, block};
use crate::program::{SERVERS, Step};
use crate::resident::Warp;

impl Engine<'_> {
    /// Lets the recorder see all steps of a warp.
    pub(crate) fn survey(&mut self, play: Play) {
        let program = self.program;
        let mut warp = Warp {
            core: 0,
            engine: 0,
            group: 0,
            index: 0,
            play,
            visit: 0,
            step: 0,
            message: 0,
            line: 0,
            pending: SmallVec::new(),
        };
        while let Some(of) = warp.play.blocks.get(warp.visit).map(|number| block(*number)) {
            for (index, step) in program.blocks[of].iter().enumerate() {
                warp.step = index + 1;
                let mut passed = None;
                if let Step::Message(message) = step {
                    let sent = warp.play.sent.get(warp.message).copied().unwrap_or_default();
                    let lines = warp.line..warp.line + usize::from(sent.lines);
                    warp.message += 1;
                    warp.line = lines.end;
                    passed =
                        Some((sent, lines.clone(), self.occupies(message, sent, &warp.play.lines[lines])));
                }
                // Nothing is played, so that the memory has the same traffic before and after, and no time passes.
                let traffic = self.memory.traffic;
                let Some(recorder) = &mut self.recorder else { return };
                match (step, passed) {
                    (Step::Run(run), _) => {
                        recorder.execute(&warp);
                        let served: [(u64, u64); SERVERS] = run.ticks.map(|ticks| (0, ticks));
                        recorder.run(&warp, 0, served);
                    }
                    (Step::Message(_), Some((sent, lines, (series, ticks)))) => {
                        recorder.execute(&warp);
                        let passage =
                            PipeTransit { series, start: 0, end: ticks, issued: ticks, done: ticks };
                        let lines = &warp.play.lines[lines];
                        recorder.message(&warp, (sent, lines), passage, [0, ticks], [traffic; 2]);
                    }
                    // Barriers are only counted. No warp leaves one, so no waiting is recorded.
                    _ => recorder.arrive(0, 0),
                }
            }
            self.worked[of] += program.costs[of];
            warp.visit += 1;
        }
    }
}
