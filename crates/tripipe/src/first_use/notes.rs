//! What is remembered of the candidates of a device and driver: lines of text in the cache folder.

use std::collections::{HashMap, HashSet};

use tripipe_cache::{Cache, Key};
use tripipe_device::Probe;

use super::KernelParameters;
use super::subject::Refusal;

/// The lines of a family on a device, and what they say. Fields are separated by tabs: the event (`started`, `timed`, `failed`,
/// `done`), what was measured, parameters, and the microseconds or the reason. Lines that cannot be parsed are ignored.
pub(super) struct Notes<'c, P> {
    cache: Option<(&'c Cache, Key)>,
    /// By what was measured: the times, the latest of each.
    times: HashMap<String, Vec<(P, f64)>>,
    /// Candidates that started and have no outcome: they crashed or hung the process, or another one measures them now.
    /// Those with a wrong result are avoided, too.
    avoided: HashSet<P>,
    done: HashMap<String, P>,
}

impl<'c, P: KernelParameters> Notes<'c, P> {
    /// The notes of a family about a device with its driver, by this version of the library.
    pub(super) fn read(cache: Option<&'c Cache>, family: &'static str, probe: &Probe) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let identity = [&probe.platform, &probe.vendor, &probe.name, &probe.version, &probe.driver];
        let mut parts: Vec<&[u8]> = identity.iter().map(|part| part.as_bytes()).collect();
        parts.extend([version, family].map(str::as_bytes));
        let key = Key::of("tuned", &parts);
        let lines = cache.map(|cache| cache.lines(&key)).unwrap_or_default();
        let mut notes = Self {
            cache: cache.map(|cache| (cache, key)),
            times: HashMap::new(),
            avoided: HashSet::new(),
            done: HashMap::new(),
        };
        for line in &lines {
            notes.take(line);
        }
        notes
    }

    fn take(&mut self, line: &str) {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (event, of) = (next(), next().to_owned());
        let Ok(parameters) = next().parse::<P>() else { return };
        match event {
            "started" => {
                self.avoided.insert(parameters);
            }
            "timed" => {
                let microseconds = next().parse::<f64>().ok();
                if let Some(microseconds) = microseconds.filter(|time| *time > 0.0 && time.is_finite()) {
                    let times = self.times.entry(of).or_default();
                    times.retain(|(known, _)| *known != parameters);
                    times.push((parameters, microseconds * 1e-6));
                    self.avoided.remove(&parameters);
                }
            }
            // It ended; only a wrong result is held against it elsewhere.
            "failed" if next() == "not usable" => {
                self.avoided.remove(&parameters);
            }
            "done" => {
                self.done.insert(of, parameters);
            }
            _ => {}
        }
    }

    /// Whether it was tuned before.
    pub(super) fn is_done(&self, key: &str) -> bool {
        self.done.contains_key(key)
    }

    /// What tuning chose.
    pub(super) fn chosen(&self, key: &str) -> Option<P> {
        self.done.get(key).copied()
    }

    /// The times in seconds.
    pub(super) fn times(&self, key: &str) -> Vec<(P, f64)> {
        self.times.get(key).cloned().unwrap_or_default()
    }

    /// Whether a candidate must not be tried.
    pub(super) fn is_avoided(&self, parameters: &P) -> bool {
        self.avoided.contains(parameters)
    }

    /// Before a candidate is tried: the line survives a crash.
    pub(super) fn started(&mut self, key: &str, parameters: &P) {
        self.add("started", key, parameters, "");
    }

    pub(super) fn timed(&mut self, key: &str, parameters: &P, seconds: f64) {
        self.add("timed", key, parameters, &format!("{:.3}", seconds * 1e6));
    }

    pub(super) fn failed(&mut self, key: &str, parameters: &P, refusal: &Refusal) {
        let kind = match refusal {
            Refusal::NotUsable(_) | Refusal::Slow => "not usable",
            Refusal::Wrong(_) => "wrong",
            Refusal::Lost(_) => "lost",
        };
        self.add("failed", key, parameters, &format!("{kind}\t{refusal}"));
    }

    pub(super) fn done(&mut self, key: &str, chosen: &P) {
        self.add("done", key, chosen, "");
    }

    /// A folder that cannot be written is not an error: nothing is remembered then.
    fn add(&mut self, event: &str, key: &str, parameters: &P, rest: &str) {
        let line = format!("{event}\t{key}\t{parameters}\t{rest}");
        if let Some((cache, file)) = &self.cache {
            let _ = cache.append(file, line.trim_end());
        }
        self.take(&line);
    }
}

#[cfg(test)]
mod tests {
    use tripipe_kernels::gemm::Parameters;

    use super::*;

    fn probe(driver: &str) -> Probe {
        Probe { name: "GPU".to_owned(), driver: driver.to_owned(), ..Probe::default() }
    }

    fn parameters(text: &str) -> Parameters {
        text.parse().unwrap()
    }

    #[test]
    fn notes_are_read_back_for_the_same_driver_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = "f32 3x4x5";
        let [fast, slow, crashed, wrong] = ["tile 4x4", "tile 2x4", "tile 8x4", "tile 8x8"].map(parameters);
        let mut notes = Notes::read(Some(&cache), "products", &probe("1"));
        for (candidate, seconds) in [(&slow, 2e-6), (&fast, 1e-6), (&slow, 3e-6)] {
            notes.started(key, candidate);
            notes.timed(key, candidate, seconds);
        }
        notes.started(key, &wrong);
        notes.failed(key, &wrong, &Refusal::Wrong("element\n(0, 0)".to_owned()));
        notes.started(key, &crashed);
        assert!(!notes.is_done(key));
        drop(notes);
        let mut notes = Notes::read(Some(&cache), "products", &probe("1"));
        assert_eq!(notes.times(key), [(fast, 1e-6), (slow, 3e-6)]);
        assert!([&crashed, &wrong].map(|one| notes.is_avoided(one)) == [true; 2]);
        assert!([&fast, &slow].map(|one| notes.is_avoided(one)) == [false; 2]);
        notes.done(key, &fast);
        let again = Notes::read(Some(&cache), "products", &probe("1"));
        assert!(again.is_done(key) && again.chosen(key) == Some(fast));
        let other = "f32 3x4x6";
        assert!(!again.is_done(other) && again.times(other).is_empty());
        let filters = Notes::<Parameters>::read(Some(&cache), "filters", &probe("1"));
        assert!(!filters.is_done(key) && !filters.is_avoided(&crashed), "each family has its own");
        let updated = Notes::read(Some(&cache), "products", &probe("2"));
        assert!(!updated.is_done(key) && !updated.is_avoided(&crashed));
    }

    #[test]
    fn lines_that_are_no_notes_are_ignored() {
        let mut notes = Notes::<Parameters>::read(None, "products", &probe("1"));
        for line in ["", "\t\t\t", "timed\tf32 1x1x1\ttile 4x4\t-1", "timed\tf32 1x1x1\ttile 4x", "\u{fffd}"]
        {
            notes.take(line);
        }
        assert!(notes.times.is_empty() && notes.avoided.is_empty());
    }
}
