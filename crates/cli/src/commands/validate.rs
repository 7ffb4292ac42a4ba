//! `tripipe validate`: how far predictions are from measurements.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tripipe_report::validation;
use tripipe_timing::Options;
use tripipe_timing::measured::{Outcome, PredictedRow, Row, Rows, each};

use super::{Format, OutputArgument, ReportWriter, note};
use crate::error_chain::chain;
use crate::files::input::shown_input;
use crate::files::originals;
use crate::finish::Finish;
use crate::launch_input::{Description, LIMIT_STEPS, LaunchOptions, Trial, Workload, one_kernel};
use crate::progress::Progress;
use crate::terminal;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe validate my-phone.csv
  tripipe validate my-phone.csv --format json

A table of measurements:
  device,model_gpu,what_if,kernel,source,unit,measured
  My phone,mali-g710,\"cores=7,clock=848\",clpeak-bw-float4,me,GB/s,32.7
  My phone,mali-g710,\"cores=7,clock=848\",blur.toml,me,ms,3.1";

/// Compare predicted times with measurements of your own.
///
/// Each row of the table names a device, the model of its GPU and how it differs (clock, cores, bandwidth, l2), a kernel and
/// a figure in GB/s, Gop/s, ms or us. A kernel is a launch file, relative to the table, with a time; or one of the
/// project's own: clpeak-mad-float4 (half, double, int; 1 to 16 wide), clpeak-bw-float4, mixbench-float -D N=80 (half, int),
/// stream-copy (scale, add, triad), lattice -D N=64, loop-float -D N=2, loop-half2, rows -D K=1024 -D U=8,
/// product -D N=1024 -D TILE=4, saxpy. The exit code is 2 if a row cannot be predicted.
/// docs/measured.md has the project's own table.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Validate {
    /// The measurements.
    #[arg(value_name = "MEASURED.csv")]
    path: PathBuf,
    /// Output format; JSON is one object on one line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

impl Validate {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let name = shown_input(&self.path);
        originals::keep(&self.path)?;
        let text = fs::read_to_string(&self.path)
            .with_context(|| format!("{name} cannot be read as text; check the path"))?;
        let Rows(rows) = Rows::parse(&text, &name)?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let progress = Progress::spinner(format!("predicting {} rows", rows.len()));
        let outcomes = each(&rows, |row| match predicted(row, folder) {
            Ok(predicted) => Ok(Outcome::new(row, &predicted)),
            Err(error) => Err(chain(&error)),
        });
        drop(progress);
        let validated: Vec<_> = rows.iter().zip(&outcomes).collect();
        let result = validation::result(&name, &validated);
        match self.format {
            Format::Text => out.write_all(validation::text(&result, self.output.canvas()).as_bytes())?,
            Format::Json | Format::Html => out.result(result)?,
        }
        let mut finish = Finish::Clean;
        for (row, outcome) in validated {
            if let Err(reason) = outcome {
                note(&terminal::shown(format!("{name}:{}: {}: {reason}", row.line, row.kernel)));
                finish = Finish::Bad;
            }
        }
        Ok(finish)
    }
}

/// The prediction of a row: of a named kernel, or of a launch file in `folder`.
fn predicted(row: &Row, folder: &Path) -> Result<PredictedRow> {
    let path = Path::new(&row.kernel);
    if !path.extension().is_some_and(|ending| ending == "toml" || ending == "sim") {
        return Ok(row.predict()?);
    }
    if row.unit.is_rate() {
        bail!("a launch file does not say what {} counts; give its time in ms or us", row.unit.name());
    }
    let description = Description::open(&folder.join(path), &LaunchOptions::default())?;
    let build = description.as_driver(row.gpu)?;
    let kernel = one_kernel(&build.loaded, &description.shown(), description.file.kernel.as_deref())?;
    let workload = Workload::new(&description, &build, kernel, LIMIT_STEPS)?;
    let trial = Trial { gpu: row.changed()?, ..Trial::default() };
    let prediction = workload.predict(row.gpu, &trial, &Options::default())?.prediction;
    Ok(PredictedRow { prediction, work: None })
}
