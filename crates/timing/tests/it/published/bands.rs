//! The table of error bands in docs/model.md. The library contains the errors, so that `BLESS=1` updates this table in the
//! run after the one that updates `data/errors.toml`.

use std::fmt::Write as _;

use tripipe_device::find;
use tripipe_timing::errors;

use crate::published::{keep, percent};

#[test]
fn families_with_published_figures_have_an_error_band() {
    let mut table = String::from(
        "| family | compared | figures | lowest error | highest | mean | mean absolute | measurement expected at |\n\
        |---|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for gpu in ["mali-t604", "mali-g76", "mali-g77", "adreno-640"] {
        let gpu = find(gpu).unwrap();
        let Some(errors) = errors::of(gpu) else {
            assert_eq!(errors::family(gpu), "bifrost");
            let row = "| fewer than two sources | | | | | | not known |";
            let _ = writeln!(table, "| {} {row}", gpu.identity.generation);
            continue;
        };
        let [lowest, highest] = errors.band(1.0);
        let names: Vec<&str> = errors.comparisons.iter().map(|comparison| comparison.name.as_str()).collect();
        let compared = names.join(", ");
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
    // 5th Gen takes the errors of Valhall, and its name says so.
    let fifth = find("mali-g720").unwrap();
    assert_eq!(errors::of(fifth).map(|errors| errors.family), Some("valhall"));
    assert_eq!((errors::family_name(fifth), errors::is_own_family(fifth)), ("Valhall", false));
}
