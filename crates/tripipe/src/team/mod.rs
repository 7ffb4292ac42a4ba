//! One operation, shared by several contexts.
//!
//! Every member of a [`Team`] takes a band of rows, computes it, and takes the next one, so a faster member does more.
//! The rate of each member in a kind of work is measured and stored for the next call; a member that would not pay off
//! is left out.
//!
//! ```
//! use tripipe::gemm::ProductExtents;
//! use tripipe::{Context, Device, Team};
//!
//! # fn main() -> Result<(), tripipe::Error> {
//! let team = Team::new(vec![Context::new(&Device::best()?)?, Context::new(&Device::Cpu)?])?;
//! let (a, b) = (vec![2.0f32; 300 * 40], vec![3.0f32; 40 * 50]);
//! let mut c = vec![0.0; 300 * 50];
//! let shares = team.product(&a, &b, &mut c, ProductExtents { m: 300, n: 50, k: 40 })?;
//! assert_eq!(c, [240.0; 300 * 50]);
//! assert_eq!(shares.shares.iter().map(|share| share.rows).sum::<usize>(), 300);
//! # Ok(())
//! # }
//! ```

mod filter;
mod product;
mod schedule;

use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use tripipe_device::Probe;
use tripipe_kernels::filter::{Chain, Raster};
use tripipe_launch::locks::{lock, recovered};

use crate::error::Fault;
use crate::explanation::Time;
use crate::memory::Memory;
use crate::{Context, Error, Extents};
use schedule::{MemberRate, Next, Schedule, choose};

/// Contexts that share one operation: a GPU and the CPU path, or several OpenCL devices. Any number of threads may use
/// a team.
///
/// A device may occur twice, with two contexts: one copies while the other computes.
///
/// A member whose rate is less than 8 % of the total rate is left out, and so is everyone but the best member where all
/// together would save less than 10 % of its time, according to the measurements. The first call of a kind measures,
/// and so does every 64th: clocks change.
#[derive(Debug)]
pub struct Team {
    members: Vec<Context>,
    known: Mutex<Vec<KnownPaces>>,
}

/// How an operation was shared.
#[derive(Debug)]
#[non_exhaustive]
pub struct Shares {
    /// One for each member, in the order of [`Team::new`].
    pub shares: Vec<Share>,
    /// The reason why only one member took part, if so.
    pub why_not: Option<String>,
    /// Seconds from the call to its end, copies and the building of kernels included.
    pub seconds: f64,
}

/// The share of one member.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Share {
    /// Name of its device.
    pub device: String,
    /// Number of rows of the result that it computed.
    pub rows: usize,
    /// Number of bands that it computed.
    pub bands: usize,
    /// Seconds these bands took, with copies, without the building of kernels.
    pub seconds: f64,
    /// Seconds of these that it spent computing: the device's own time on OpenCL. `None` when the context takes no
    /// times.
    pub computing_seconds: Option<f64>,
    /// Seconds before the first band, for the setup that all bands need.
    pub setup_seconds: f64,
    /// Rows per second, the rate by which the rest was shared out; `None` before its first band of this kind.
    pub rate: Option<f64>,
    /// The reason why it took no part, or stopped taking part.
    pub left_out: Option<String>,
    /// Its failure; others completed what it had started.
    pub failure: Option<Error>,
}

/// The measurements stored for a kind of work.
#[derive(Debug)]
struct KnownPaces {
    kind: Kind,
    paces: Vec<Option<MemberRate>>,
    calls: usize,
}

/// Work in which a member's rate in rows per second is about constant.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// A chain on images that differ only in their height.
    Filter(Chain, Box<[Raster; 2]>),
    /// Products of a type, with a B of these extents.
    Product(&'static str, Extents),
}

/// The number of kinds of work that are stored.
const KINDS: usize = 64;
/// The number of calls after which rates are measured again.
const CALLS: usize = 64;

/// A part of the result.
struct Band<'r> {
    rows: Range<usize>,
    /// The bytes of the rows, one slice for each plane.
    parts: Vec<&'r mut [u8]>,
}

/// The result to compute.
struct SharedResult<'r> {
    band: Band<'r>,
    /// Distance between rows.
    pitch_bytes: usize,
    /// The number of rows of a band is a multiple of this, except for the last band.
    quantum: usize,
    /// The reason why it cannot be divided.
    uncut: Option<String>,
}

/// Work that can be computed band by band.
trait Work: Sync {
    /// The resources of a member during the work.
    type Bench;

    /// The largest number of rows that fits the device's memory objects.
    fn most_rows(&self, probe: &Probe) -> usize;

    /// Sets up what all bands need; also returns the seconds spent building kernels.
    fn set_up(&self, context: &Context) -> Result<(Self::Bench, f64), Error>;

    /// Computes a band.
    fn compute(
        &self,
        context: &Context,
        bench: &mut Self::Bench,
        rows: Range<usize>,
        parts: &mut [&mut [u8]],
    ) -> Result<BandTimes, Error>;
}

/// The times of the parts of a band's computation.
struct BandTimes {
    building: f64,
    computing: Option<f64>,
}

/// The result in progress.
struct Progress<'r> {
    /// The rows that were not handed out yet.
    rest: Band<'r>,
    pitch_bytes: usize,
    uncut: bool,
    /// The bands that members returned.
    returned: Vec<Band<'r>>,
    schedule: Schedule,
    shares: Vec<Share>,
}

impl Team {
    /// A team of these contexts. When no measurements are available the first one does work that cannot be shared.
    ///
    /// # Errors
    /// `members` is empty.
    pub fn new(members: Vec<Context>) -> Result<Self, Error> {
        if members.is_empty() {
            return Err(Error::from(Fault::NoMember));
        }
        Ok(Self { members, known: Mutex::default() })
    }

    /// The contexts.
    pub fn members(&self) -> &[Context] {
        &self.members
    }

    fn share<W: Work>(&self, kind: &Kind, work: &W, whole: SharedResult<'_>) -> Result<Shares, Error> {
        let start = Instant::now();
        let SharedResult { band: rest, pitch_bytes, quantum, uncut } = whole;
        let rows = rest.rows.len();
        let paces = self.paces(kind);
        let names: Vec<&str> = self.members.iter().map(Context::name).collect();
        let chosen = choose(rows, &paces, &names, uncut.as_deref());
        let mut asked = chosen.members;
        let share = |(device, left_out): (&&str, Option<String>)| Share {
            device: (*device).to_owned(),
            left_out,
            ..Share::default()
        };
        let shares = names.iter().zip(chosen.left_out).map(share).collect();
        let uncut = uncut.is_some();
        let schedule = Schedule::new(rows, quantum, paces);
        let mut progress = Progress { rest, pitch_bytes, uncut, returned: Vec::new(), schedule, shares };
        while !progress.is_done() {
            progress.schedule.begin(&asked);
            progress = self.round(work, progress, &asked);
            // The remaining work of failed members goes to the remaining ones, otherwise to those that had been left
            // out.
            let healthy = |index: &usize| progress.shares[*index].failure.is_none();
            asked.retain(healthy);
            if asked.is_empty() {
                asked = (0..self.members.len()).filter(healthy).collect();
            }
            if asked.is_empty() && !progress.is_done() {
                return Err(progress.failed());
            }
        }
        let shares = progress.schedule.finish(progress.shares);
        if rows > 0 {
            self.keep(kind, &asked, &shares);
        }
        Ok(Shares { shares, why_not: chosen.why_not, seconds: start.elapsed().as_secs_f64() })
    }

    /// Lets the chosen members take bands until there are none.
    fn round<'r, W: Work>(&self, work: &W, progress: Progress<'r>, asked: &[usize]) -> Progress<'r> {
        let start = Instant::now();
        let progress = Mutex::new(progress);
        let member = |index: usize| toil(work, &progress, &self.members[index], index, start);
        thread::scope(|scope| {
            let Some((last, others)) = asked.split_last() else { return };
            for index in others {
                let name = format!("tripipe-team-{index}");
                let started = thread::Builder::new().name(name).spawn_scoped(scope, || member(*index));
                // A member without a thread takes no part.
                if let Err(error) = started {
                    let why = format!("its thread did not start: {error}");
                    lock(&progress).leave(*index, why);
                }
            }
            member(*last);
        });
        recovered(progress.into_inner())
    }

    /// The stored rates of the members for a kind of work; counts one more call.
    fn paces(&self, kind: &Kind) -> Vec<Option<MemberRate>> {
        let mut known = lock(&self.known);
        if let Some(place) = known.iter().position(|one| one.kind == *kind) {
            known[..=place].rotate_right(1);
        } else {
            let paces = vec![None; self.members.len()];
            known.insert(0, KnownPaces { kind: kind.clone(), paces, calls: 0 });
            known.truncate(KINDS);
        }
        let first = &mut known[0];
        if first.calls == CALLS {
            first.paces.fill(None);
            first.calls = 0;
        }
        first.calls += 1;
        first.paces.clone()
    }

    /// Stores the measurements.
    fn keep(&self, kind: &Kind, asked: &[usize], shares: &[Share]) {
        let mut known = lock(&self.known);
        let Some(known) = known.iter_mut().find(|known| known.kind == *kind) else { return };
        for index in asked {
            let share = &shares[*index];
            if let Some(rows_per_second) = share.rate.filter(|_| share.rows > 0) {
                let setup_seconds = share.setup_seconds;
                known.paces[*index] = Some(MemberRate { rows_per_second, setup_seconds });
            }
        }
    }
}

/// The work of a member: sets up, then takes bands until there are none.
fn toil<W: Work>(work: &W, progress: &Mutex<Progress<'_>>, context: &Context, index: usize, start: Instant) {
    let mut bench = match work.set_up(context) {
        Ok((bench, building)) => {
            lock(progress).shares[index].setup_seconds = start.elapsed().as_secs_f64() - building;
            bench
        }
        Err(error) => {
            lock(progress).fail(index, error);
            return;
        }
    };
    let most = context.probe().map_or(usize::MAX, |probe| work.most_rows(probe));
    loop {
        // The lock is held only while taking a band.
        let taken = lock(progress).take(index, most);
        let Some(mut band) = taken else { return };
        let begun = Instant::now();
        let made = work.compute(context, &mut bench, band.rows.clone(), &mut band.parts);
        let seconds = begun.elapsed().as_secs_f64();
        let mut progress = lock(progress);
        match made {
            Ok(spent) => progress.record_band(index, band.rows.len(), seconds, &spent),
            Err(error) => {
                progress.fail(index, error);
                progress.returned.push(band);
                return;
            }
        }
    }
}

impl<'r> Progress<'r> {
    /// The next band for a member; `None` when there are none, or none for it.
    fn take(&mut self, index: usize, most: usize) -> Option<Band<'r>> {
        let most = if self.uncut { usize::MAX } else { most.max(1) };
        if let Some(mut band) = self.returned.pop() {
            let first = band.cut(band.rows.len().min(most), self.pitch_bytes);
            if !band.rows.is_empty() {
                self.returned.push(band);
            }
            return Some(first);
        }
        let left = self.rest.rows.len();
        match if self.uncut && left > 0 { Next::Rows(left) } else { self.schedule.next(index, left, most) } {
            Next::Rows(count) => Some(self.rest.cut(count, self.pitch_bytes)),
            Next::TooSlow(why) => {
                self.leave(index, why);
                None
            }
            Next::Nothing => None,
        }
    }

    /// Records that a member takes no further part, with the reason.
    fn leave(&mut self, index: usize, why: String) {
        self.shares[index].left_out = Some(why);
        self.schedule.leave(index);
    }

    fn fail(&mut self, index: usize, error: Error) {
        self.shares[index].failure = Some(error);
        self.schedule.leave(index);
    }

    /// The error when every member failed.
    fn failed(self) -> Error {
        let members = self.shares.len();
        let failure = self.shares.into_iter().find_map(|share| share.failure);
        failure.map_or(Error::from(Fault::NoMember), |first| {
            Error::from(Fault::NoMemberLeft { members, first: Box::new(first) })
        })
    }

    fn record_band(&mut self, index: usize, rows: usize, seconds: f64, spent: &BandTimes) {
        let seconds = seconds - spent.building;
        let share = &mut self.shares[index];
        share.computing_seconds = match (share.bands, spent.computing) {
            (0, computing) => computing,
            (_, computing) => share.computing_seconds.zip(computing).map(|(sum, more)| sum + more),
        };
        share.rows += rows;
        share.bands += 1;
        share.seconds += seconds;
        self.schedule.record_band(index, rows, seconds);
    }

    fn is_done(&self) -> bool {
        self.returned.is_empty() && self.rest.rows.is_empty()
    }
}

impl Band<'_> {
    /// Removes the first `count` rows and returns them.
    fn cut(&mut self, count: usize, pitch_bytes: usize) -> Self {
        let middle = self.rows.start + count;
        let parts = std::mem::take(&mut self.parts).into_iter();
        let (first, rest) = parts
            .map(|part| {
                // The last row has no gap after it.
                let bytes = (count * pitch_bytes).min(part.len());
                part.split_at_mut(bytes)
            })
            .unzip();
        let rows = self.rows.start..middle;
        (self.rows.start, self.parts) = (middle, rest);
        Self { rows, parts: first }
    }
}

/// Device memory of at least `bytes` bytes: the existing memory, or a larger one.
fn room<'m>(context: &Context, memory: &'m mut Option<Memory>, bytes: usize) -> Result<&'m Memory, Error> {
    let enough = memory.take().filter(|memory| memory.bytes() >= bytes);
    let made = match enough {
        Some(memory) => memory,
        None => Memory::uninitialised::<u8>(context, bytes)?,
    };
    Ok(memory.insert(made))
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} in all", Time(self.seconds))?;
        if let Some(why_not) = &self.why_not {
            writeln!(f, "  not shared: {why_not}")?;
        }
        for share in &self.shares {
            write!(
                f,
                "  {}: {} rows in {} bands, {}",
                share.device,
                share.rows,
                share.bands,
                Time(share.seconds)
            )?;
            if let Some(seconds) = share.computing_seconds {
                write!(f, ", {} of them computing", Time(seconds))?;
            }
            if let Some(rate) = share.rate {
                write!(f, ", {rate:.0} rows/s")?;
            }
            if let Some(left_out) = &share.left_out {
                write!(f, "; left out: {left_out}")?;
            }
            if let Some(failure) = &share.failure {
                write!(f, "; failed: {failure}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
