//! Captures of real GPUs: tables of counters that profilers export.
//!
//! Three forms are read, separated by commas, semicolons or tabs. *Wide*: a column for each counter, and a row for each
//! sample, as Streamline exports its timeline. *Long*: a row for each sample of each counter, with columns named
//! `Metric`, `Timestamp` and `Value`, as Snapdragon Profiler exports. *List*: a row for each counter with its value, as
//! programs print that read counters themselves.

/// How times of a capture are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl Clock {
    fn seconds(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
            Self::Nanoseconds => 1e-9,
        }
    }

    /// The unit that the name of a column ends with: `Time (ms)`, `timestamp_ns`.
    fn named(column: &str) -> Option<Self> {
        // Units are written as `(ms)` or `_ms`.
        let column = column.trim().trim_end_matches(')').to_ascii_lowercase();
        let unit = column.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
        Some(match unit {
            "s" | "sec" | "seconds" => Self::Seconds,
            "ms" | "milliseconds" => Self::Milliseconds,
            "us" | "microseconds" => Self::Microseconds,
            "ns" | "nanoseconds" => Self::Nanoseconds,
            _ => return None,
        })
    }
}

/// A counter of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the capture.
    pub name: String,
    /// Its samples: seconds since the first sample of the capture, if it has times, and the value.
    pub samples: Vec<(Option<f64>, f64)>,
}

/// A capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// Its counters, in the order of the file.
    pub series: Vec<Series>,
}

/// Why a capture cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// Not a table.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// A table without counters.
    #[error(
        "no counter found: want a header with a column for each counter, a table with the columns `Metric` and `Value`, \
         or a counter and its value on each line"
    )]
    Empty,
}

/// A number as profilers write it: with a percent sign, with commas between thousands, or with a decimal comma.
fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_end_matches('%').trim_end();
    let value = text.parse::<f64>().ok().or_else(|| {
        // Three digits behind each comma make it a separator of thousands, so `1,234` is read as 1234.
        let grouped = text.contains(',')
            && text.split(',').skip(1).all(|part| part.split('.').next().unwrap_or("").len() == 3);
        let decimal = text.matches(',').count() == 1 && !text.contains('.');
        match (grouped, decimal) {
            (true, _) => text.replace(',', "").parse().ok(),
            (false, true) => text.replace(',', ".").parse().ok(),
            (false, false) => None,
        }
    });
    // `nan` and `inf` parse as numbers, but they are not samples.
    value.filter(|value| value.is_finite())
}

/// A name without case, spaces and punctuation.
pub(super) fn key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || *c == '%').flat_map(char::to_lowercase).collect()
}

impl Capture {
    /// Reads a capture. `clock` overrides the unit of its times, which is otherwise read from the column's name:
    /// seconds, or microseconds for Snapdragon Profiler's `TimestampRaw`.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn read(text: &str, clock: Option<Clock>) -> Result<Self, CaptureError> {
        // Some tools on Windows begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let count = |separator: char| {
            // Comments may contain any separator. The first rows are enough to tell.
            let lines = text.lines().filter(|line| !line.starts_with('#')).take(20);
            lines.filter(|line| line.contains(separator)).count()
        };
        // `max_by_key` returns the last of equals. The order is reversed so that the comma wins.
        let separator = [',', ';', '\t'].into_iter().rev().max_by_key(|separator| count(*separator));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator.map_or(b',', |separator| separator as u8))
            .has_headers(false)
            // Titles above the header have fewer fields than the table.
            .flexible(true)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| CaptureError::Syntax {
                line: error.position().map_or(0, csv::Position::line),
                message: error.to_string(),
            })?;
            rows.push(record.iter().map(|field| field.trim().to_owned()).collect());
        }
        // The header: the first row of names that a row with a number follows.
        let is_header = |at: usize| {
            let named = rows[at].iter().filter(|field| !field.is_empty()).count() >= 2;
            let follows = rows.get(at + 1).is_some_and(|row| row.iter().any(|field| number(field).is_some()));
            named && follows && rows[at].iter().all(|field| number(field).is_none())
        };
        let capture = match (0..rows.len()).find(|at| is_header(*at)) {
            Some(at) => {
                let names: Vec<String> = rows[at].iter().map(|name| key(name)).collect();
                let column = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
                let metric = column(&["metric", "counter", "countername", "name"]);
                match (metric, column(&["value", "countervalue"])) {
                    (Some(metric), Some(value)) => {
                        // Where both columns are there, the raw time counts, because its unit is known.
                        let time = column(&["timestampraw"])
                            .or_else(|| names.iter().position(|name| name.starts_with("time")));
                        Self::long(&rows[at..], [metric, value], time, clock)
                    }
                    _ => Self::wide(&rows[at..], clock),
                }
            }
            None => Self::list(&rows),
        };
        if capture.series.is_empty() { Err(CaptureError::Empty) } else { Ok(capture) }
    }

    fn long(
        rows: &[Vec<String>],
        [metric, value]: [usize; 2],
        time: Option<usize>,
        clock: Option<Clock>,
    ) -> Self {
        let mut capture = Self::default();
        let scale = time.and_then(|time| rows.first()?.get(time)).map_or(1.0, |column| {
            let raw = (key(column) == "timestampraw").then_some(Clock::Microseconds);
            clock.or_else(|| Clock::named(column)).or(raw).unwrap_or(Clock::Seconds).seconds()
        });
        for row in &rows[1..] {
            let (Some(name), Some(value)) = (row.get(metric), row.get(value).and_then(|text| number(text)))
            else {
                continue;
            };
            let time = time.and_then(|time| number(row.get(time)?)).map(|time| time * scale);
            match capture.series.iter_mut().find(|series| series.name == *name) {
                Some(series) => series.samples.push((time, value)),
                None => {
                    capture.series.push(Series { name: name.clone(), samples: vec![(time, value)] });
                }
            }
        }
        capture.since_first()
    }

    fn wide(rows: &[Vec<String>], clock: Option<Clock>) -> Self {
        let header = rows.first().map_or(&[][..], Vec::as_slice);
        let is_time = |name: &str| key(name).starts_with("time") || key(name) == "t";
        let is_other =
            |name: &str| matches!(key(name).as_str(), "" | "index" | "sample" | "frame" | "process");
        let time = header.iter().position(|name| is_time(name));
        let scale = time.map_or(1.0, |time| {
            clock.or_else(|| Clock::named(&header[time])).unwrap_or(Clock::Seconds).seconds()
        });
        let mut capture = Self::default();
        for (column, name) in header.iter().enumerate() {
            if is_time(name) || is_other(name) {
                continue;
            }
            let samples = rows[1..].iter().filter_map(|row| {
                let at = time.and_then(|time| number(row.get(time)?)).map(|time| time * scale);
                Some((at, number(row.get(column)?)?))
            });
            let samples: Vec<(Option<f64>, f64)> = samples.collect();
            if !samples.is_empty() {
                capture.series.push(Series { name: name.clone(), samples });
            }
        }
        capture.since_first()
    }

    /// A counter and its value on each line.
    fn list(rows: &[Vec<String>]) -> Self {
        let mut capture = Self::default();
        for row in rows {
            if let [name, value, ..] = &row[..]
                && number(name).is_none()
                && let Some(value) = number(value)
            {
                capture.series.push(Series { name: name.clone(), samples: vec![(None, value)] });
            }
        }
        capture
    }

    /// Times since the first sample.
    fn since_first(mut self) -> Self {
        let times = self.series.iter().flat_map(|series| &series.samples).filter_map(|(time, _)| *time);
        let first = times.fold(f64::INFINITY, f64::min);
        if first.is_finite() {
            for (time, _) in self.series.iter_mut().flat_map(|series| &mut series.samples) {
                *time = time.map(|time| time - first);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Capture, CaptureError, Clock};

    type Samples = Vec<(Option<f64>, f64)>;

    fn read(text: &str) -> Vec<(String, Samples)> {
        let capture = Capture::read(text, None).unwrap();
        capture.series.into_iter().map(|series| (series.name, series.samples)).collect()
    }

    #[test]
    fn wide_tables_are_read() {
        let found = read(
            "\u{feff}# made by hand\nTitle;\nTime (ms);GPU active cycles;Name\n0;\"1,500\";x\n250;;y\n500;7.5%;z\n",
        );
        assert_eq!(found, [("GPU active cycles".to_owned(), vec![(Some(0.0), 1500.0), (Some(0.5), 7.5)])]);
    }

    #[test]
    fn long_tables_are_read() {
        let found = read(
            "Process,Metric,Timestamp,TimestampRaw,Value\n\
             Global,% L1 Hit,1,5000000,80\nGlobal,% L1 Hit,2,6500000,90\nGlobal,GPU % Utilization,2,6500000,100\n",
        );
        assert_eq!(found[0], ("% L1 Hit".to_owned(), vec![(Some(0.0), 80.0), (Some(1.5), 90.0)]));
        assert_eq!(found[1], ("GPU % Utilization".to_owned(), vec![(Some(1.5), 100.0)]));
    }

    #[test]
    fn numbers_are_read_as_profilers_write_them() {
        for (text, want) in [
            ("1,234,567.5", Some(1_234_567.5)),
            ("12,5", Some(12.5)),
            (" 7 %", Some(7.0)),
            ("-3e2", Some(-300.0)),
            ("1,23,4", None),
            ("nan", None),
            ("1e999", None),
            ("", None),
        ] {
            assert_eq!(super::number(text), want, "{text:?}");
        }
    }

    /// Whatever comes in is read or refused.
    #[test]
    fn damaged_captures_do_no_harm() {
        let whole =
            "Process,Metric,TimestampRaw,Value\nGlobal,\"% L1, Hit\",5000000,8;0\nGlobal,x,6\n\tö,1,2\n";
        let mut random = 1_u32;
        for _ in 0..2000 {
            let mut text: Vec<char> = whole.chars().collect();
            for _ in 0..4 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (random >> 8) as usize % text.len();
                match random % 3 {
                    0 => text.truncate(at.max(1)),
                    1 => {
                        text[at] =
                            [',', ';', '\t', '"', '\n', '1', '\u{feff}', '#'][(random >> 4) as usize % 8];
                    }
                    _ => text.swap(at, 0),
                }
            }
            if let Ok(capture) = Capture::read(&text.into_iter().collect::<String>(), None) {
                assert!(capture.series.iter().all(|series| !series.samples.is_empty()));
            }
        }
    }

    #[test]
    fn lists_are_read() {
        let found = read("GPU_ACTIVE,1000\nL2_READ_LOOKUP,20\n");
        assert_eq!(found[1], ("L2_READ_LOOKUP".to_owned(), vec![(None, 20.0)]));
        assert_eq!(read("counter\tvalue\nGPU_ACTIVE\t1000\n")[0].1, [(None, 1000.0)]);
    }

    #[test]
    fn what_is_no_capture_is_refused() {
        for text in ["", "\n\n", "one column\n1\n", "a,b\nc,d\n", "1,2\n3,4\n", "\"open"] {
            assert_eq!(Capture::read(text, None), Err(CaptureError::Empty), "{text:?}");
        }
    }

    #[test]
    fn units_of_times_are_read_from_names() {
        for (name, want) in [
            ("Time (s)", Some(Clock::Seconds)),
            ("time_ms", Some(Clock::Milliseconds)),
            ("Timestamp [ns]", Some(Clock::Nanoseconds)),
            ("Time", None),
        ] {
            assert_eq!(Clock::named(name.trim_end_matches(']')), want, "{name}");
        }
    }
}
