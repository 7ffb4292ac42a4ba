//! The choice of parameters by times of products like it: the user's, where there are any; none are shipped.

use tripipe_device::Probe;

use super::choice::{ParameterChoice, choose};
use super::description::QuantisedProduct;
use super::parameters::{Parameters, WeightMemory};
use crate::table::{Device, Relation, Table, TimeOf, TimeSeries, TimedSubject, described, microseconds};

/// Times of products with quantised weights on one device. In a file: by parameters, a line for each product, e.g.
/// `q4_0 f32 1x4096x11008 812.0 us`.
pub type QuantisedSeries = TimeSeries<QuantisedProduct>;

/// The time of a product with certain parameters.
pub type QuantisedTime = TimeOf<QuantisedProduct>;

impl TimedSubject for QuantisedProduct {
    type Parameters = Parameters;

    const IS_PREDICTED: bool = false;
}

/// The largest factor between the extents of a product and those of one whose times decide.
const NEAR: f64 = 4.0;

impl Table {
    /// The parameters for a product on a device; those for weights in `memory`, if they are packed already.
    ///
    /// Times of the device itself or of its generation, of weights in the same format, decide: the fastest parameters of
    /// the nearest product that are valid for this one. Each extent of it may be up to four times as large or as small.
    /// Otherwise the rules of `data/quantised.toml` decide ([`choose`]).
    pub fn choose_quantised(
        &self,
        product: &QuantisedProduct,
        memory: Option<WeightMemory>,
        probe: &Probe,
    ) -> ParameterChoice {
        self.by_times_of_quantised(product, memory, probe).unwrap_or_else(|| choose(product, memory, probe))
    }

    fn by_times_of_quantised(
        &self,
        product: &QuantisedProduct,
        memory: Option<WeightMemory>,
        probe: &Probe,
    ) -> Option<ParameterChoice> {
        let device = Device::of(probe);
        let fits = |time: &&QuantisedTime| {
            time.of.format == product.format
                && memory.is_none_or(|memory| memory == time.parameters.memory)
                && time.parameters.check(product, probe).is_ok()
        };
        let mut near: Vec<(Relation, f64, &QuantisedSeries, &QuantisedTime)> = Vec::new();
        let related = self.related(&device, probe, |file| &file.quantised).into_iter();
        for (relation, series) in related.filter(|(relation, _)| *relation <= Relation::Generation) {
            for time in series.times.iter().filter(fits) {
                let [far, distance] = distance(product, &time.of);
                if far <= NEAR.ln() {
                    near.push((relation, distance, series, time));
                }
            }
        }
        let order = |a: &(Relation, f64, &QuantisedSeries, &QuantisedTime),
                     b: &(_, f64, _, &QuantisedTime)| {
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.3.seconds.total_cmp(&b.3.seconds))
        };
        let (relation, _, series, time) = near.into_iter().min_by(order)?;
        let of = described(&series.on, relation);
        let why = format!(
            "the fastest by times {} {of}: {}, {}",
            series.basis,
            time.of,
            microseconds(time.seconds)
        );
        Some(ParameterChoice { parameters: time.parameters, why, rests_on: series.provenance() })
    }
}

/// How far the extents of two products are apart, as logarithms of factors: the largest, and the sum. The type of x and y
/// changes little: it counts as a factor of 1.1.
fn distance(one: &QuantisedProduct, other: &QuantisedProduct) -> [f64; 2] {
    let ratio = |a: usize, b: usize| (a.max(1) as f64 / b.max(1) as f64).ln().abs();
    let extents = [ratio(one.m, other.m), ratio(one.n, other.n), ratio(one.k, other.k)];
    let types = if one.activation == other.activation { 0.0 } else { 0.1 };
    [extents.into_iter().fold(0.0, f64::max), extents.into_iter().sum::<f64>() + types]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, TableFile, Target};

    fn series(on: Target, times: &[(&str, &str, f64)]) -> QuantisedSeries {
        let time = |(of, parameters, seconds): &(&str, &str, f64)| QuantisedTime {
            of: of.parse().unwrap(),
            seconds: *seconds,
            parameters: parameters.parse().unwrap(),
        };
        QuantisedSeries {
            on,
            basis: Basis::Measured,
            source: "a test".to_owned(),
            device: "some".to_owned(),
            driver: "1".to_owned(),
            version: "0".to_owned(),
            date: "2026-01-01".to_owned(),
            times: times.iter().map(time).collect(),
        }
    }

    #[test]
    fn the_nearest_times_of_the_format_decide_and_rules_where_none_are_near() {
        let probe = Probe { name: "Some GPU".to_owned(), max_work_group_size: 256, ..Probe::default() };
        let times = [
            ("q4_0 f32 1x4096x4096", "2x1 group=16x8", 2e-3),
            ("q4_0 f32 1x4096x4096", "8x1 group=32x4 masks", 1e-3),
            ("q8_0 f32 1x4096x4096", "4x1 group=8x2", 1e-6),
            ("q4_0 f32 4x1024x4096", "1x4 group=64x2", 1e-6),
        ];
        let quantised = vec![series(Target::Name("some gpu".to_owned()), &times)];
        let table = Table::of(TableFile { quantised, ..TableFile::default() });
        let chosen = |text: &str, probe: &Probe| {
            let product: QuantisedProduct = text.parse().unwrap();
            table.choose_quantised(&product, None, probe)
        };
        assert_eq!(chosen("q4_0 f16 1x5000x3000", &probe).parameters.to_string(), "8x1 group=32x4 masks");
        assert_eq!(chosen("q4_0 f32 4x2000x4096", &probe).parameters.to_string(), "1x4 group=64x2");
        // Nothing is near in m, or of the format, or of the device.
        for (text, probe) in [
            ("q4_0 f32 32x4096x4096", probe.clone()),
            ("f16 f32 1x4096x4096", probe.clone()),
            ("q4_0 f32 1x4096x4096", Probe { name: "Another".to_owned(), ..probe.clone() }),
        ] {
            let product: QuantisedProduct = text.parse().unwrap();
            assert_eq!(chosen(text, &probe), choose(&product, None, &probe), "{text}");
        }
        // What the device cannot run is left out.
        let small = Probe { max_work_group_size: 64, ..probe };
        let product: QuantisedProduct = "q4_0 f32 4x1024x4096".parse().unwrap();
        assert_eq!(chosen("q4_0 f32 4x1024x4096", &small), choose(&product, None, &small));
    }

    #[test]
    fn series_of_files_read_back() {
        let times =
            [("q4_0 f32 1x4096x4096", "2x1 group=16x8", 2e-3), ("i8 f16 8x32x64", "2x1 group=16x8", 4e-6)];
        let file = TableFile {
            quantised: vec![series(Target::Gpu("Mali-G77".to_owned()), &times)],
            ..TableFile::default()
        };
        let text = file.to_toml().unwrap();
        assert!(text.contains("i8 f16 8x32x64 4.000 us"), "{text}");
        assert_eq!(TableFile::parse("a file", &text).unwrap(), file);
        let wrong = text.replace("8x32x64", "8x32");
        let error = TableFile::parse("a file", &wrong).unwrap_err().to_string();
        assert!(error.contains("8x32") && error.contains("want"), "{error}");
    }
}
