//! The table of error bands in docs/model.md. The library contains the errors, so that `BLESS=1` updates this table in the
//! run after the one that updates `data/errors.toml`.

use std::fmt::Write as _;

use tripipe_device::find;
use tripipe_timing::errors;

use crate::published::{keep, percent};

#[test]
fn every_family_has_an_error_band() {
    let mut table = String::from(
        "| family | compared | figures | lowest error | highest | mean | mean absolute | measurement expected at |\n\
        |---|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for gpu in ["mali-t604", "mali-g76", "mali-g77", "adreno-640"] {
        let gpu = find(gpu).unwrap();
        let errors = errors::of(gpu);
        let [lowest, highest] = errors.band(1.0);
        let names: Vec<&str> = errors.comparisons.iter().map(|comparison| comparison.name.as_str()).collect();
        let compared =
            if errors.borrowed { format!("borrowed from {}", errors.family) } else { names.join(", ") };
        let _ = writeln!(
            table,
            "| {} | {compared} | {} | {} | {} | {} | {:.0} % | {lowest:.2} to {highest:.2} x predicted |",
            gpu.identity.generation,
            errors.count,
            percent(errors.lowest),
            percent(errors.highest),
            percent(errors.mean),
            100.0 * errors.mean_absolute,
        );
        assert!(lowest <= 1.0 && highest >= 1.0 && highest.is_finite(), "{table}");
    }
    keep("errors", &table);
}
