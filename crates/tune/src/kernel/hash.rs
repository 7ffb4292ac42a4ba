//! What makes two versions of a kernel different.

use sha2::{Digest as _, Sha256};
use tripipe_launch::Source;

use super::KernelDescription;

impl KernelDescription {
    /// A few digits of a hash of all but the values of `[tune]`, of which only the first candidate counts.
    pub(super) fn hash(&self, first: &str) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(without_tuning(&self.launch).as_bytes());
        add(first.as_bytes());
        match &self.source {
            Source::OpenClC(text) => add(text.to_string().as_bytes()),
            Source::SpirV(module) => add(module),
            _ => {}
        }
        add(&self.included);
        add(format!("{:?} {:?} {:?}", self.overrides, self.flags, self.signature).as_bytes());
        self.files.each(&mut add);
        let hash: [u8; 32] = hash.finalize().into();
        let [a, b, c, d, e, f, ..] = hash;
        format!("{:012x}", u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
}

/// The text of a launch file without the sections of the table `[tune]`.
fn without_tuning(launch: &str) -> String {
    let mut is_tuning = false;
    let kept = launch.lines().filter(|line| {
        let header = line.trim().strip_prefix('[').map(|rest| rest.trim_start_matches('[').trim_start());
        // Items of lists that begin a line are numbers or strings.
        if let Some(header) = header.filter(|header| header.starts_with(|c: char| c.is_ascii_alphabetic())) {
            is_tuning = header.starts_with("tune]") || header.starts_with("tune.");
        }
        !is_tuning
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::without_tuning;

    #[test]
    fn the_sections_of_the_table_do_not_count() {
        let launch =
            "global = 8\n[tune]\nlocal = [\n[8, 8],\n[\"WG\", 1]]\n [tune.parameters] # more\nWG = [1]\n";
        let arguments = "[[argument]]\nname = 'tune'\nvalue = [\n1]";
        assert_eq!(without_tuning(&format!("{launch}{arguments}")), format!("global = 8\n{arguments}"));
        let last = format!("{arguments}\n{launch}");
        assert_eq!(without_tuning(&last), format!("{arguments}\nglobal = 8"));
        assert_eq!(without_tuning("[tuner]\nx = 1"), "[tuner]\nx = 1");
    }
}
