//! The generation of each product (`data/products.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::document::built_in;
use crate::family::Family;
use crate::product::GpuProduct;

const TEXT: &str = include_str!("../data/products.toml");

static PRODUCTS: LazyLock<Products> = LazyLock::new(|| built_in("products.toml", toml::from_str(TEXT)));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Products {
    clock: Clock,
    mali: Vec<MaliGeneration>,
    adreno: Vec<AdrenoGeneration>,
}

/// Which reported clocks are believed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    /// The lowest believed maximum clock.
    lowest_mhz: u32,
    #[allow(dead_code, reason = "for the reader of the file, and checked by a test")]
    basis: String,
    #[allow(dead_code, reason = "for the reader of the file, and checked by a test")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MaliGeneration {
    family: String,
    generation: String,
    #[allow(dead_code, reason = "for the reader of the file, and checked by a test")]
    source: String,
    /// Series letter and number, e.g. `G610`; with a dash, a variant of that number: `G1-Pro`.
    products: Vec<String>,
    /// The product of each code name that drivers report instead of the product name.
    #[serde(default)]
    codenames: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdrenoGeneration {
    family: String,
    generation: String,
    #[allow(dead_code, reason = "for the reader of the file, and checked by a test")]
    source: String,
    first: u32,
    last: u32,
    /// Numbers outside `first..=last` that also belong to this generation.
    #[serde(default)]
    also: Vec<u32>,
    /// Series with another numbering, each with the product number it is closest to.
    #[serde(default)]
    series: BTreeMap<String, u32>,
}

/// Family and generation of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProductGeneration {
    pub(crate) family: Family,
    pub(crate) generation: &'static str,
    /// The number used to compare the product with others.
    pub(crate) number: u32,
    /// Whether the table lists the product; `false` if only its number decided.
    pub(crate) listed: bool,
}

/// The lowest maximum clock, in MHz, that a GPU's driver is believed to report.
pub(crate) fn lowest_clock_mhz() -> u32 {
    PRODUCTS.clock.lowest_mhz
}

/// Family and generation of `product`; `None` if no generation with models covers its number.
///
/// A Mali that is not listed belongs with the listed product of the same series and number of digits whose number is
/// nearest: numbers of two digits and of three are different schemes.
pub(crate) fn of(product: &GpuProduct) -> Option<ProductGeneration> {
    match product {
        GpuProduct::Mali { series, number, .. } => {
            let (generation, near) = PRODUCTS
                .mali
                .iter()
                .flat_map(|row| row.products.iter().map(move |name| (row, name)))
                .filter_map(|(row, name)| Some((row, name.strip_prefix(*series)?.parse().ok()?)))
                .filter(|(_, near): &(_, u32)| near.checked_ilog10() == number.checked_ilog10())
                .min_by_key(|(_, near)| (near.abs_diff(*number), *near))?;
            Some(ProductGeneration {
                family: family(&generation.family)?,
                generation: &generation.generation,
                number: *number,
                listed: near == *number,
            })
        }
        GpuProduct::Adreno { number, .. } => {
            let special = PRODUCTS.adreno.iter().find(|row| row.also.contains(number));
            let row = special.or_else(|| {
                let mut rows = PRODUCTS.adreno.iter();
                rows.find(|row| (row.first..=row.last).contains(number))
            })?;
            Some(ProductGeneration {
                family: family(&row.family)?,
                generation: &row.generation,
                number: *number,
                listed: true,
            })
        }
        GpuProduct::AdrenoSeries { series, .. } => {
            let (row, like) = PRODUCTS.adreno.iter().find_map(|row| Some((row, *row.series.get(series)?)))?;
            Some(ProductGeneration {
                family: family(&row.family)?,
                generation: &row.generation,
                number: like,
                listed: true,
            })
        }
    }
}

/// The variant of a Mali that a word behind its number names, as the table writes it: `-Pro` for `G1` and `pro`.
pub(crate) fn variant(product: &str, word: &str) -> Option<&'static str> {
    let mut listed = PRODUCTS.mali.iter().flat_map(|row| &row.products);
    listed.find_map(|name| {
        let variant = name.strip_prefix(product)?;
        variant.strip_prefix('-')?.eq_ignore_ascii_case(word).then_some(variant)
    })
}

/// The product of a driver's code name, ignoring case: `lodx` is `G610`.
pub(crate) fn product_of_codename(codename: &str) -> Option<&'static str> {
    let codename = codename.to_ascii_uppercase();
    let mut rows = PRODUCTS.mali.iter();
    rows.find_map(|row| row.codenames.get(&codename)).map(String::as_str)
}

fn family(id: &str) -> Option<Family> {
    let mut words = Family::WORDS.iter();
    words.find(|(word, _)| *word == id).map(|(_, family)| *family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;
    use crate::product::NameParts;
    use crate::sourced::Basis;

    #[test]
    fn the_table_is_well_formed_and_cites_known_sources() {
        let products: Products = toml::from_str(TEXT).unwrap();
        let sources: toml::Table = include_str!("../data/sources.toml").parse().unwrap();
        let sources = sources["sources"].as_table().unwrap();
        assert!(sources.contains_key(&products.clock.source), "{}", products.clock.source);
        assert!(
            Basis::WORDS.iter().any(|(word, _)| *word == products.clock.basis),
            "{}",
            products.clock.basis
        );
        // No model's clock is doubted.
        let lowest = catalog().iter().map(|gpu| gpu.configuration.clock_mhz.value).min();
        assert!(lowest.unwrap() > 2 * products.clock.lowest_mhz);
        for row in &products.mali {
            assert!(family(&row.family).is_some(), "{}", row.family);
            assert!(sources.contains_key(&row.source), "{}", row.source);
            for product in row.codenames.values() {
                assert!(row.products.contains(product), "{product}");
            }
        }
        for row in &products.adreno {
            assert!(family(&row.family).is_some(), "{}", row.family);
            assert!(sources.contains_key(&row.source), "{}", row.source);
            assert!(row.first <= row.last);
        }
    }

    #[test]
    fn every_model_is_a_listed_product_of_its_own_family_and_generation() {
        for gpu in catalog() {
            let product = NameParts::read(gpu.name()).product.unwrap();
            let place = of(&product).unwrap();
            assert!(place.listed, "{}", gpu.name());
            assert_eq!(place.family, gpu.family(), "{}", gpu.name());
            assert_eq!(place.generation, gpu.identity.generation, "{}", gpu.name());
        }
    }
}
