//! How a family executes, as data: units, words, and the cost of every operation.
//!
//! The TOML files in `data/` define it, every entry with its basis and source; `data/README.md` describes the format.

mod error;
mod family;
mod file;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use tripipe_device::{Gpu, Source, Sourced};
use tripipe_ir::Scalar;

use crate::work::Work;

use family::FamilyModels;
use file::{Entry, File, Section, UnitEntry, Variant};

pub use error::ModelError;

/// A pipe of a shader core. Pipes run in parallel, and a report has one column for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipe {
    /// All arithmetic of Midgard and Bifrost; 32-bit instructions on Adreno, where 16-bit ones count half.
    Arithmetic,
    /// Floating-point multiplication and addition (Valhall and later).
    Fma,
    /// Conversions, comparisons, integer addition (Valhall and later).
    Convert,
    /// Reciprocals, exponentials; integer multiplication, shifts and logic on Valhall. Adreno: the EFU.
    Special,
    /// Loads, stores, atomics.
    LoadStore,
    /// Image reads.
    Texture,
}

impl Pipe {
    /// All of them, in the order of a report's columns.
    pub const ALL: [Self; 6] =
        [Self::Arithmetic, Self::Fma, Self::Convert, Self::Special, Self::LoadStore, Self::Texture];

    /// Position in [`Pipe::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// One unit of a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its name in the data and in listings, e.g. `vmul`.
    pub name: String,
    /// The pipe it belongs to.
    pub pipe: Pipe,
    /// Bits it processes at once: `bits / width` lanes of a type; 0 for one lane of any width.
    pub bits: u32,
    /// Clocks of its pipe that one operation takes.
    pub cycles: f64,
    /// Position in the word's pipeline: its result is available to units of later stages of the same word.
    pub stage: u32,
    /// The kind of word it is a slot of; units of one kind are issued together. `None`: it is issued alone.
    pub word: Option<u32>,
}

/// A set of units, one bit each by position in [`Model::units`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Units(pub u32);

impl Units {
    /// Whether a unit is in it.
    pub const fn contains(self, unit: usize) -> bool {
        unit < 32 && self.0 & 1 << unit != 0
    }

    /// Positions, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |unit| self.contains(*unit))
    }
}

/// One step of a recipe: a number of operations, each on one of some units.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Number of operations; each depends on the one before.
    pub count: u32,
    /// Units that can do it.
    pub units: Units,
    /// Lanes of one operation, if the unit's width does not determine them.
    pub lanes: Option<u32>,
}

/// The cost of an operation: steps, each dependent on the one before. No steps: it costs nothing.
pub type Recipe = Sourced<Vec<Step>>;

/// How one family executes.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The units.
    pub units: Vec<Unit>,
    /// How values are stored in registers, and how instructions are combined.
    pub layout: RegisterLayout,
    recipes: BTreeMap<String, BTreeMap<Work, Recipe>>,
    /// The most that an operation may take, where compilers differ.
    most: BTreeMap<String, BTreeMap<Work, Vec<Step>>>,
    like: BTreeMap<String, String>,
}

/// How values are stored in registers, and how instructions are combined.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a property of a family by itself, as the data files have them"
)]
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterLayout {
    /// The basis of most of it, as a word of [`tripipe_device::Basis`].
    pub basis: String,
    /// The source, a key of the GPUs' sources.
    pub source: String,
    /// Bits of a register that the lanes of a vector share; 0: every lane has a register of its own.
    pub register_bits: u32,
    /// Minimum register bits of a lane: of a scalar where vectors share registers, else of every lane.
    pub scalar_bits: u32,
    /// Most bits of one load or store.
    pub access_bits: u32,
    /// Most elements of one load or store.
    pub access_elements: u32,
    /// Most neighbouring elements that become one access without a proof that its address is aligned to more than an
    /// element; 0: never.
    pub unaligned_elements: u32,
    /// Whether a load or store can add a scaled index to its address.
    pub folds_index: bool,
    /// Bits of the signed constant that a load or store can add to its address; 0: none.
    pub offset_bits: u32,
    /// Whether an offset in local or private memory is added to the segment's base by an operation.
    pub adds_segment: bool,
    /// Bits that are loaded before they are needed, to hide memory latency.
    pub load_ahead_bits: u32,
    /// Whether these are bits of memory; otherwise, bits of the registers that are loaded.
    pub ahead_in_memory: bool,
    /// Consecutive stores share a word up to this many bits in total; 0: they never do.
    pub store_pair_bits: u32,
    /// Whether 8-bit lanes must be stored in order to be read. Lanes in another order are gathered first.
    pub fixed_bytes: bool,
    /// Whether the first source register of a gather also costs an operation.
    pub gather_first: bool,
    /// Registers of the GPU's own width that the compiler tries to keep to, for more threads in flight: it spills rather
    /// than use more, as long as spills stay within `spill_share`. 0: it uses all that the GPU has before it spills.
    pub preferred_registers: u32,
    /// The largest share of spills among the words of a work-item with which `preferred_registers` is kept; a loop counts
    /// as ten iterations.
    pub spill_share: f64,
    /// Registers that the compiler uses in addition to the live ones.
    pub spare_registers: u32,
    /// Whether two equal operations share a unit if each uses more than one lane and at most half of the unit's lanes.
    pub joins_halves: bool,
    /// Most halves of a vector that are computed at the rate of halves: those of wider vectors take as long as floats.
    pub half_rate_lanes: u32,
    /// Bits of a vector that scalars of neighbouring work-items fill together; 0: a word belongs to one work-item.
    pub items_together_bits: u32,
    /// The upper end of the range of the arithmetic pipe's words, relative to the words of this model.
    pub words_most: f64,
    /// Pairs of dependent operations that are fused.
    pub fuses: Vec<Fusion>,
}

impl RegisterLayout {
    /// Whether one access can have `lanes` neighbouring elements, from an address that is a constant behind one with a
    /// known alignment.
    pub(crate) fn joins(&self, lanes: u32, scalar: Scalar, constant: i64, aligned: i64) -> bool {
        let size = i64::from(lanes) * i64::from(scalar.bits() / 8);
        let is_aligned = lanes.is_power_of_two() && size <= aligned && constant % size == 0;
        lanes <= (self.access_bits / scalar.bits()).min(self.access_elements)
            && (is_aligned || lanes <= self.unaligned_elements && scalar.bits() <= 32)
    }
}

/// Two dependent operations that a family does in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fusion {
    /// A shift, and the bitwise logic on its result.
    ShiftLogic,
    /// A comparison, and the selection by its result.
    CompareSelect,
    /// A comparison, and the branch on its result.
    CompareBranch,
}

impl Model {
    /// How a GPU executes what its compiler makes: that of its own driver, or of the generation that the GPU names.
    pub fn of(gpu: &Gpu) -> Arc<Self> {
        let models = FamilyModels::of(gpu);
        let name = gpu.drivers.compiler.as_deref().unwrap_or(gpu.name());
        Arc::clone(models.special.get(name).unwrap_or(&models.general))
    }

    /// The generations of compilers that a GPU has had, if its code differs between them: names for
    /// [`compiler`](tripipe_device::opencl::Drivers::compiler).
    pub fn compilers(gpu: &Gpu) -> &'static [String] {
        &FamilyModels::of(gpu).compilers
    }

    /// Reads a data file and applies the variants that name `gpu`: a GPU, or a generation of compilers.
    ///
    /// # Errors
    /// The text is not of the form that `data/README.md` describes.
    pub fn from_toml(text: &str, gpu: &str) -> Result<Self, ModelError> {
        let file: File =
            toml::from_str(text).map_err(|error| ModelError::Syntax { message: error.to_string() })?;
        let variants: Vec<Variant> = file.variant.into_iter().filter(|variant| variant.is_for(gpu)).collect();
        let units: Vec<Unit> = file.unit.into_iter().map(UnitEntry::unit).collect();
        let mut model = Self { units, layout: file.layout, ..Self::default() };
        for variant in &variants {
            let layout = &mut model.layout;
            layout.preferred_registers = variant.preferred_registers.unwrap_or(layout.preferred_registers);
            layout.spill_share = variant.spill_share.unwrap_or(layout.spill_share);
            layout.spare_registers = variant.spare_registers.unwrap_or(layout.spare_registers);
            layout.joins_halves = variant.joins_halves.unwrap_or(layout.joins_halves);
            layout.items_together_bits = variant.items_together_bits.unwrap_or(layout.items_together_bits);
            layout.half_rate_lanes = variant.half_rate_lanes.unwrap_or(layout.half_rate_lanes);
            layout.unaligned_elements = variant.unaligned_elements.unwrap_or(layout.unaligned_elements);
        }
        let sections = file.operation.iter().chain(variants.iter().flat_map(|variant| &variant.operation));
        for (ty, section) in sections {
            if let Some(like) = &section.like {
                model.like.insert(ty.clone(), like.clone());
            }
            for (name, entry) in &section.works {
                let work = Work::named(name).ok_or_else(|| ModelError::Word {
                    section: ty.clone(),
                    word: name.clone(),
                    what: "operation",
                })?;
                let recipe = model.recipe_of(ty, work, section, entry)?;
                if let Entry::Full { most: Some(most), .. } = entry {
                    let most = model.steps(ty, work, most)?;
                    model.most.entry(ty.clone()).or_default().insert(work, most);
                }
                model.recipes.entry(ty.clone()).or_default().insert(work, recipe);
            }
        }
        for name in variants.iter().flat_map(|variant| &variant.without) {
            let unit = model.unit(name).ok_or_else(|| ModelError::Word {
                section: "variant".into(),
                word: name.clone(),
                what: "unit",
            })?;
            let recipes = model.recipes.values_mut().flat_map(BTreeMap::values_mut);
            for step in recipes.flat_map(|recipe| &mut recipe.value) {
                if step.units.0 & !(1 << unit) != 0 {
                    step.units.0 &= !(1 << unit);
                }
            }
        }
        Ok(model)
    }

    /// The index of the unit of that name.
    pub fn unit(&self, name: &str) -> Option<usize> {
        self.units.iter().position(|unit| unit.name == name)
    }

    /// The cost of an operation on a type: from the section of the type, else from the type it is `like`, else from
    /// `any`. `None` if none of them has it.
    pub fn recipe(&self, ty: &str, work: Work) -> Option<&Recipe> {
        let mut at = ty;
        loop {
            if let Some(recipe) = self.recipes.get(at).and_then(|works| works.get(&work)) {
                return Some(recipe);
            }
            match self.like.get(at) {
                Some(like) => at = like,
                None if at != "any" => at = "any",
                None => return None,
            }
        }
    }

    /// Clocks of each pipe that an operation of `any` type may take beyond its recipe.
    pub(crate) fn surplus(&self, work: Work) -> impl Iterator<Item = (Pipe, f32)> {
        let most = self.most.get("any").and_then(|works| works.get(&work));
        let clocks = |steps: &[Step], pipe: Pipe| -> f64 {
            let units =
                steps.iter().filter_map(|step| Some((step.count, &self.units[step.units.iter().next()?])));
            units
                .filter(|(_, unit)| unit.pipe == pipe)
                .map(|(count, unit)| f64::from(count) * unit.cycles)
                .sum()
        };
        let takes = most.and_then(|_| self.recipe("any", work)).map_or(&[][..], |recipe| &recipe.value);
        let most = most.map_or(&[][..], |most| most);
        Pipe::ALL
            .into_iter()
            .map(move |pipe| (pipe, (clocks(most, pipe) - clocks(takes, pipe)) as f32))
            .filter(|(_, clocks)| *clocks > 0.0)
    }

    /// All recipes, with type and operation.
    pub fn recipes(&self) -> impl Iterator<Item = (&str, Work, &Recipe)> {
        self.recipes
            .iter()
            .flat_map(|(ty, works)| works.iter().map(move |(work, recipe)| (ty.as_str(), *work, recipe)))
    }

    fn recipe_of(
        &self,
        ty: &str,
        work: Work,
        section: &Section,
        entry: &Entry,
    ) -> Result<Recipe, ModelError> {
        let (takes, basis, source, note) = match entry {
            Entry::Plain(takes) => (takes, None, None, None),
            Entry::Full { takes, basis, source, note, .. } => {
                (takes, basis.as_ref(), source.as_ref(), note.clone())
            }
        };
        let word =
            |word: &str, what| ModelError::Word { section: ty.to_owned(), word: word.to_owned(), what };
        let basis = basis.unwrap_or(&section.basis);
        let source = source.unwrap_or(&section.source);
        Ok(Recipe {
            value: self.steps(ty, work, takes)?,
            basis: basis.parse().map_err(|()| word(basis, "basis"))?,
            source: Source::named(source).ok_or_else(|| word(source, "source"))?,
            note,
        })
    }

    fn steps(&self, ty: &str, work: Work, text: &str) -> Result<Vec<Step>, ModelError> {
        let steps = text.split_whitespace().map(|step| {
            self.step(step).map_err(|reason| ModelError::Recipe {
                section: ty.to_owned(),
                work: work.to_string(),
                step: step.to_owned(),
                reason,
            })
        });
        steps.collect()
    }

    /// Parses a step. `3*vadd|sadd@1`: three operations, each of one lane, on either unit.
    fn step(&self, text: &str) -> Result<Step, &'static str> {
        let (count, rest) = match text.split_once('*') {
            Some((count, rest)) => (count.parse().map_err(|_| "the count is not a number")?, rest),
            None => (1, text),
        };
        let (names, lanes) = match rest.split_once('@') {
            Some((names, lanes)) => (names, Some(lanes.parse().map_err(|_| "the lanes are not a number")?)),
            None => (rest, None),
        };
        let mut units = Units::default();
        for name in names.split('|') {
            units.0 |= 1 << self.unit(name).ok_or("no such unit")?;
        }
        Ok(Step { count, units, lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::family::{ADRENO, BIFROST, MIDGARD, VALHALL};
    use super::*;

    #[test]
    fn the_built_in_files_are_well_formed() {
        for text in [MIDGARD, BIFROST, VALHALL, ADRENO] {
            let general = Model::from_toml(text, "").unwrap();
            assert!(!general.units.is_empty() && general.recipes().count() > 60);
            let file: File = toml::from_str(text).unwrap();
            for gpu in file.variant.iter().flat_map(|variant| &variant.gpus) {
                assert!(tripipe_device::find(gpu).is_ok(), "{gpu}");
                Model::from_toml(text, gpu).unwrap();
            }
        }
    }

    #[test]
    fn a_gpu_can_be_compiled_as_by_another_generation() {
        let [mut t628, t604] = ["t628", "t604"].map(|name| tripipe_device::find(name).unwrap().clone());
        assert_eq!(Model::compilers(&t628), ["2013", "2017"]);
        assert!(!Arc::ptr_eq(&Model::of(&t628), &Model::of(&t604)));
        t628.drivers.compiler = Some("2013".to_owned());
        assert!(Arc::ptr_eq(&Model::of(&t628), &Model::of(&t604)));
        assert!(Model::compilers(tripipe_device::find("g77").unwrap()).is_empty());
    }

    #[test]
    fn an_operation_of_an_unknown_name_is_an_error() {
        let text = BIFROST.replacen("\nminmax = ", "\nmaxmin = ", 1);
        let error = Model::from_toml(&text, "").unwrap_err();
        assert_eq!(error.to_string(), "[i32]: `maxmin` is not a valid operation");
    }

    #[test]
    fn every_name_in_the_data_is_of_one_operation() {
        for (index, work) in Work::ALL.iter().enumerate() {
            assert_eq!(Work::named(work.name()), Some(*work));
            assert!(Work::ALL[..index].iter().all(|other| other.name() < work.name()), "{work}");
        }
        assert_eq!(Work::named("maxmin"), None);
    }
}
