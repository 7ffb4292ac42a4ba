//! All calls, as tracks of a trace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tripipe_trace::{Arguments, Recorder, Slice, Track};

use crate::call::{Argument, Call, readable, returned};
use crate::function::Function;

/// Calls that are recorded; later ones are only counted.
const LIMIT: usize = 500_000;

/// A call, as small as it can be.
struct Record {
    function: Function,
    thread: u32,
    number: u64,
    code: i32,
    result: u64,
    event: u64,
    time_ns: [u64; 2],
    arguments: Vec<Argument>,
    kernel: Option<Arc<str>>,
}

/// All calls so far.
#[derive(Default)]
pub(crate) struct Calls {
    state: Mutex<CallsState>,
}

#[derive(Default)]
struct CallsState {
    records: Vec<Record>,
    left_out: u64,
}

impl Calls {
    /// Records a call; `kernel` is the name of its kernel.
    pub(crate) fn add(&self, call: Call, kernel: Option<Arc<str>>, recorder: &Recorder) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.records.len() >= LIMIT {
            state.left_out += 1;
            return;
        }
        let Call { function, number, mut arguments, code, result, event, thread, time } = call;
        for argument in &mut arguments {
            if let Argument::Bytes(bytes) = argument {
                // What is shown of them.
                bytes.truncate(64);
            }
        }
        let time_ns = time.map(|time| recorder.at_ns(time));
        state.records.push(Record {
            function,
            thread,
            number,
            code,
            result,
            event,
            time_ns,
            arguments,
            kernel,
        });
    }

    /// A track for each thread, named by `name`, and the number of calls that were left out.
    pub(crate) fn tracks(&self, name: impl Fn(u32) -> String) -> (Vec<Track>, u64) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tracks: BTreeMap<u32, Track> = BTreeMap::new();
        for record in &state.records {
            let track = tracks
                .entry(record.thread)
                .or_insert_with(|| Track { name: name(record.thread), slices: Vec::new() });
            track.slices.push(record.slice());
        }
        (tracks.into_values().collect(), state.left_out)
    }
}

impl Record {
    fn slice(&self) -> Slice {
        let mut arguments = Arguments::default();
        for (name, value) in readable(self.function, &self.arguments) {
            arguments.push(name, value);
        }
        if self.event != 0 {
            arguments.push("event", crate::call::pointer(self.event));
        }
        if let Some(kernel) = &self.kernel {
            arguments.push("kernel's name", kernel.to_string());
        }
        arguments.push("returned", returned(self.function, self.code, self.result));
        arguments.push("call", self.number);
        Slice {
            name: self.function.name().to_owned(),
            category: "call".into(),
            start_ns: self.time_ns[0],
            duration_ns: self.time_ns[1].saturating_sub(self.time_ns[0]),
            arguments,
        }
    }
}
