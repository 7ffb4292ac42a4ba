//! Tables of measurements.

use tripipe_device::{Gpu, GpuChange};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 10^9 bytes per second that the kernel itself reads and writes.
    GigabytesPerSecond,
    /// 10^9 operations per second; a multiply-add counts as two.
    GigaoperationsPerSecond,
    /// Milliseconds of a launch.
    Milliseconds,
    /// Microseconds of a launch.
    Microseconds,
}

impl Unit {
    /// All units, as tables write them.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("GB/s", Self::GigabytesPerSecond),
        ("Gop/s", Self::GigaoperationsPerSecond),
        ("ms", Self::Milliseconds),
        ("us", Self::Microseconds),
    ];

    /// The unit as tables write it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| name)
    }

    /// The figure of a launch that takes `seconds`; `work` is what it does, in this unit times seconds.
    pub fn figure(self, seconds: f64, work: Option<f64>) -> f64 {
        match (self, work) {
            (Self::Milliseconds, _) => seconds * 1e3,
            (Self::Microseconds, _) => seconds * 1e6,
            (_, Some(work)) => work / seconds,
            (_, None) => f64::NAN,
        }
    }

    /// Whether more is faster.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::GigabytesPerSecond | Self::GigaoperationsPerSecond)
    }
}

/// A measurement.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line of the file, from 1.
    pub line: u64,
    /// The device and what was measured, in words; sizes that the kernel does not give are read from it.
    pub device: String,
    /// The model of its GPU.
    pub gpu: &'static Gpu,
    /// How the device differs from the model.
    pub changes: Vec<GpuChange>,
    /// A named kernel, or a launch file.
    pub kernel: String,
    /// Who measured it.
    pub source: String,
    /// The unit of the figure.
    pub unit: Unit,
    /// The figure, above 0.
    pub measured: f64,
    /// Whether it only judges: no figure of the model may be fitted to it.
    pub held_out: bool,
    /// Whether a figure or a rule of the model was fitted to it, so that it judges nothing.
    pub fitted: bool,
}

/// Measurements, in the order of the file.
#[derive(Clone, Debug)]
pub struct Rows(pub Vec<Row>);

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// Not CSV, or a row has another number of fields than the header.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What the reader says.
        message: String,
    },
    /// A column that is not there.
    #[error("{file}:1: no column `{column}`; want {}", COLUMNS.join(","))]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
    },
    /// A field that cannot be read.
    #[error("{file}:{line}: {column} `{value}`: {reason}")]
    Field {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// What is there.
        value: String,
        /// Why it cannot be read, and what is wanted.
        reason: String,
    },
    /// No measurement.
    #[error("{file}: no measurements")]
    Empty {
        /// The file.
        file: String,
    },
}

const COLUMNS: [&str; 7] = ["device", "model_gpu", "what_if", "kernel", "source", "unit", "measured"];

impl Rows {
    /// Reads a table; `file` names it in errors.
    ///
    /// # Errors
    /// [`RowError`]: the first row that cannot be read.
    pub fn parse(text: &str, file: &str) -> Result<Self, RowError> {
        let file = || file.to_owned();
        // The reader counts a line end of two characters for the line before.
        let text = text.replace("\r\n", "\n");
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let syntax = |error: &csv::Error| RowError::Syntax {
            file: file(),
            line: error.position().map_or(1, csv::Position::line),
            message: match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!(
                        "{len} fields, but the header has {expected_len}; quote fields that contain commas"
                    )
                }
                _ => error.to_string(),
            },
        };
        let header = reader.headers().map_err(|error| syntax(&error))?.clone();
        let place = |column: &'static str| header.iter().position(|name| name == column);
        for column in COLUMNS {
            place(column).ok_or_else(|| RowError::Column { file: file(), column })?;
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| syntax(&error))?;
            let line = record.position().map_or(0, csv::Position::line);
            // An optional column that the table lacks reads as empty.
            let field = |column| place(column).and_then(|at| record.get(at)).unwrap_or_default();
            let wrong = |column: &'static str, reason: String| RowError::Field {
                file: file(),
                line,
                column,
                value: field(column).to_owned(),
                reason,
            };
            let gpu = tripipe_device::find(field("model_gpu"))
                .map_err(|error| wrong("model_gpu", error.to_string()))?;
            let changes = field("what_if").split(',').map(str::trim).filter(|change| !change.is_empty());
            let changes: Vec<GpuChange> = changes
                .map(|change| {
                    change.parse().map_err(|error: tripipe_device::GpuChangeError| error.to_string())
                })
                .collect::<Result<_, String>>()
                .map_err(|reason| wrong("what_if", reason))?;
            let unit = Unit::NAMES.iter().find(|(name, _)| *name == field("unit")).map(|(_, unit)| *unit);
            let unit = unit.ok_or_else(|| {
                wrong("unit", format!("want {}", Unit::NAMES.map(|(name, _)| name).join(", ")))
            })?;
            let measured =
                field("measured").parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
            let measured = measured.ok_or_else(|| wrong("measured", "want a number above 0".to_owned()))?;
            let flag = |column| match field(column) {
                "" | "no" => Ok(false),
                "yes" => Ok(true),
                _ => Err(wrong(column, "want yes, no or nothing".to_owned())),
            };
            let (held_out, fitted) = (flag("held_out")?, flag("fitted")?);
            if field("kernel").is_empty() {
                return Err(wrong("kernel", "want the name of a kernel or a launch file".to_owned()));
            }
            rows.push(Row {
                line,
                device: field("device").to_owned(),
                gpu,
                changes,
                kernel: field("kernel").to_owned(),
                source: field("source").to_owned(),
                unit,
                measured,
                held_out,
                fitted,
            });
        }
        if rows.is_empty() {
            return Err(RowError::Empty { file: file() });
        }
        Ok(Self(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "device,model_gpu,what_if,kernel,source,unit,measured\n";

    #[test]
    fn rows_are_read() {
        let text = format!("{HEADER}a phone,mali-g710,\"cores=7,clock=848\",clpeak-bw-float1,me,GB/s,33.4\n");
        let Rows(rows) = Rows::parse(&text, "f.csv").unwrap();
        let row = &rows[0];
        assert_eq!((row.line, row.gpu.name(), row.unit.name(), row.measured), (2, "Mali-G710", "GB/s", 33.4));
        assert_eq!(Rows::parse(&text.replace('\n', "\r\n"), "f.csv").unwrap().0[0].line, 2);
        assert_eq!(row.changes, [GpuChange::Cores(7), GpuChange::Clock(848)]);
        assert_eq!(row.changed().unwrap().unwrap().configuration.cores.value, 7);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let good = "d,mali-g710,,k,s,ms,1\n";
        for (row, wanted) in [
            ("d,mali-g7100,,k,s,ms,1", "f.csv:3: model_gpu `mali-g7100`: "),
            ("d,mali-g710,clok=3,k,s,ms,1", "f.csv:3: what_if `clok=3`: `clok`: want clock=MHZ"),
            ("d,mali-g710,cores=0,k,s,ms,1", "f.csv:3: what_if `cores=0`: cores=0: want 1 to 128 cores"),
            ("d,mali-g710,,k,s,GFLOPS,1", "f.csv:3: unit `GFLOPS`: want GB/s, Gop/s, ms, us"),
            ("d,mali-g710,,k,s,ms,-1", "f.csv:3: measured `-1`: want a number above 0"),
            ("d,mali-g710,,k,s,ms,", "f.csv:3: measured ``: want a number above 0"),
            ("d,mali-g710,,,s,ms,1", "f.csv:3: kernel ``: want the name"),
            ("d,mali-g710,,k,s,ms", "f.csv:3: 6 fields, but the header has 7"),
        ] {
            let error = Rows::parse(&format!("{HEADER}{good}{row}\n"), "f.csv").unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
        let error = Rows::parse("device,unit\nd,ms\n", "f.csv").unwrap_err().to_string();
        assert!(error.starts_with("f.csv:1: no column `model_gpu`"), "{error}");
        assert!(matches!(Rows::parse(HEADER, "f.csv"), Err(RowError::Empty { .. })));
    }
}
