//! Which parameters a product gets without times: `data/quantised.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::document::built_in;
use tripipe_device::{DeviceKind, Family, Probe, Vendor, identify};

use super::description::QuantisedProduct;
use super::format::{BLOCK, WeightFormat};
use super::parameters::{Parameters, Unpack, WeightMemory};

const FILE: &str = include_str!("../../data/quantised.toml");

static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| built_in("data/quantised.toml", toml::from_str::<RulesFile>(FILE)).rule);

/// Parameters, and what they are derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterChoice {
    /// The parameters.
    pub parameters: Parameters,
    /// Why these, in one sentence.
    pub why: String,
    /// The basis of the rule and its source, in words.
    pub rests_on: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    rule: Vec<Rule>,
}

/// A rule of the data, which describes its fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    on: RuleDevices,
    memory: MemoryWord,
    outputs: usize,
    group: usize,
    vectors: usize,
    work_items_per_unit: usize,
    parts_max: usize,
    masks: bool,
    why: String,
    basis: RuleBasis,
    source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleDevices {
    Cpu,
    Midgard,
    Mali,
    Adreno,
    Gpu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MemoryWord {
    Buffer,
    Image,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleBasis {
    Measured,
    Published,
    Predicted,
    Guessed,
}

impl RuleBasis {
    fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Published => "published",
            Self::Predicted => "predicted",
            Self::Guessed => "guessed",
        }
    }
}

impl RuleDevices {
    fn of(probe: &Probe) -> Self {
        if probe.kind == DeviceKind::Cpu {
            return Self::Cpu;
        }
        let device = identify(probe);
        match (device.family, device.vendor) {
            (Some(Family::Midgard), _) => Self::Midgard,
            (_, Some(Vendor::Arm)) => Self::Mali,
            (_, Some(Vendor::Qualcomm)) => Self::Adreno,
            (_, None) => Self::Gpu,
        }
    }
}

/// The parameters for a product on a device by rule, without times ([`crate::Table::choose_quantised`] uses both); those for
/// weights in `memory`, if they are packed already.
///
/// A rule fixes what a work-item computes. The steps along K are divided among as many work-items as fill the device.
/// Where a rule does not fit the device, the next one is taken, and finally a work-item for each output, which every
/// device can run.
pub fn choose(product: &QuantisedProduct, memory: Option<WeightMemory>, probe: &Probe) -> ParameterChoice {
    let on = RuleDevices::of(probe);
    let fits = |rule: &&Rule| rule.on == on;
    for rule in RULES.iter().filter(fits) {
        let parameters = rule.parameters(product, probe);
        if memory.is_none_or(|memory| memory == parameters.memory) && parameters.check(product, probe).is_ok()
        {
            let rests_on = format!("{}: {}", rule.basis.word(), rule.source);
            return ParameterChoice { parameters, why: rule.why.clone(), rests_on };
        }
    }
    let memory = memory.unwrap_or(WeightMemory::Buffer);
    let outputs = if memory == WeightMemory::Image { 4 } else { 1 };
    ParameterChoice {
        parameters: Parameters { outputs, vectors: 1, group: 1, parts: 1, memory, unpack: Unpack::Shifts },
        why: "what every device can run: no rule fits this one".to_owned(),
        rests_on: "guessed: the simplest parameters".to_owned(),
    }
}

impl Rule {
    fn parameters(&self, product: &QuantisedProduct, probe: &Probe) -> Parameters {
        let vectors = product.m.clamp(1, self.vectors);
        let wanted = self.work_items_per_unit.saturating_mul(probe.compute_units.max(1) as usize);
        let items =
            product.n.div_ceil(self.outputs).max(1).saturating_mul(product.m.div_ceil(vectors).max(1));
        let blocks = product.k.div_ceil(BLOCK).max(1);
        let most = match probe.max_work_group_size {
            0 => self.parts_max,
            limit => self.parts_max.min(limit / self.group.max(1)),
        };
        let mut parts = 1;
        while 2 * parts <= most && 2 * parts <= blocks && items.saturating_mul(parts) < wanted {
            parts *= 2;
        }
        let memory = match self.memory {
            MemoryWord::Buffer => WeightMemory::Buffer,
            MemoryWord::Image => WeightMemory::Image,
        };
        let masks = self.masks && product.format == WeightFormat::Q4_0;
        let unpack = if masks { Unpack::Masks } else { Unpack::Shifts };
        Parameters { outputs: self.outputs, vectors, group: self.group, parts, memory, unpack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::ProductExtents;
    use crate::quantised::Activation;

    #[test]
    fn the_rules_read_and_every_kind_of_device_has_one() {
        let file: RulesFile = toml::from_str(FILE).unwrap();
        for on in
            [RuleDevices::Cpu, RuleDevices::Midgard, RuleDevices::Mali, RuleDevices::Adreno, RuleDevices::Gpu]
        {
            assert!(file.rule.iter().any(|rule| rule.on == on), "{on:?}");
        }
        assert!(file.rule.iter().all(|rule| !rule.source.is_empty() && !rule.why.is_empty()));
        assert!(toml::from_str::<RulesFile>(&FILE.replace("basis", "bases")).is_err());
    }

    #[test]
    fn small_grids_are_divided_along_k() {
        let probe = Probe { compute_units: 4, kind: DeviceKind::Gpu, ..Probe::default() };
        let product = |n| {
            QuantisedProduct::new(WeightFormat::Q4_0, Activation::F32, ProductExtents { m: 1, n, k: 4096 })
        };
        let parts = |n| choose(&product(n), None, &probe).parameters.parts;
        assert!(parts(64) > parts(4096), "{} {}", parts(64), parts(4096));
        assert_eq!(parts(1 << 20), 1);
    }
}
