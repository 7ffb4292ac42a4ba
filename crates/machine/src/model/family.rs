//! The models of each family of GPUs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use tripipe_device::document::built_in;
use tripipe_device::{Family, Gpu};

use super::Model;
use super::file::File;

/// The models of a family.
pub(super) struct FamilyModels {
    /// That of most of its GPUs.
    pub(super) general: Arc<Model>,
    /// Those of the GPUs and the generations of compilers that variants name.
    pub(super) special: BTreeMap<String, Arc<Model>>,
    /// The names among them that are generations of compilers.
    pub(super) compilers: Vec<String>,
}

impl FamilyModels {
    pub(super) fn of(gpu: &Gpu) -> &'static Self {
        static MODELS: LazyLock<[FamilyModels; 4]> =
            LazyLock::new(|| [MIDGARD, BIFROST, VALHALL, ADRENO].map(FamilyModels::read));
        match gpu.family() {
            Family::Midgard => &MODELS[0],
            Family::Bifrost => &MODELS[1],
            Family::Valhall | Family::Arm5thGen => &MODELS[2],
            Family::Adreno5xx | Family::Adreno6xx | Family::Adreno7xx | Family::Adreno8xx => &MODELS[3],
        }
    }

    fn read(text: &str) -> Self {
        let read = |name: &str| Arc::new(built_in("a built-in model", Model::from_toml(text, name)));
        let file: File = built_in("a built-in model", toml::from_str(text));
        let variants = file.variant;
        // What is named by the same variants shares one model.
        let mut models: BTreeMap<Vec<usize>, Arc<Model>> = BTreeMap::new();
        let mut compilers: Vec<String> =
            variants.iter().filter_map(|variant| variant.compiler.clone()).collect();
        compilers.sort();
        compilers.dedup();
        let names = variants.iter().flat_map(|variant| &variant.gpus).chain(&compilers);
        let special = names.map(|name| {
            let own = (0..variants.len()).filter(|at| variants[*at].is_for(name)).collect();
            (name.clone(), Arc::clone(models.entry(own).or_insert_with(|| read(name))))
        });
        Self { general: read(""), special: special.collect(), compilers }
    }
}

pub(super) const MIDGARD: &str = include_str!("../../data/midgard.toml");
pub(super) const BIFROST: &str = include_str!("../../data/bifrost.toml");
pub(super) const VALHALL: &str = include_str!("../../data/valhall.toml");
pub(super) const ADRENO: &str = include_str!("../../data/adreno.toml");
