//! Converts clocks of a pipe for one work-item or warp to cycles of a shader core per work-item.
//!
//! All figures are per work-item at the core's full width, as in the vendor's tools: a core that executes 64 lanes per
//! clock needs 1/64 cycle for an operation of one work-item.

use tripipe_device::{Family, Gpu, Vendor};
use tripipe_machine::Pipe;

use crate::Polynomial;

/// A column of a report: a pipe of the family, or the sum of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// All arithmetic together, as the core issues it.
    Arithmetic,
    /// Valhall and later: multiplications and additions of floats.
    Fma,
    /// Valhall and later: conversions, comparisons, integer additions.
    Convert,
    /// Special functions; on Valhall also integer multiplication, shifts and logic. Adreno: the EFU.
    Special,
    /// Loads and stores.
    LoadStore,
    /// Image reads.
    Texture,
}

impl Column {
    /// The columns of a family, in the order of its vendor's tools.
    pub fn of(family: Family) -> &'static [Self] {
        match family {
            Family::Midgard | Family::Bifrost => &[Self::Arithmetic, Self::LoadStore, Self::Texture],
            Family::Valhall | Family::Arm5thGen => {
                &[Self::Arithmetic, Self::Fma, Self::Convert, Self::Special, Self::LoadStore, Self::Texture]
            }
            Family::Adreno5xx | Family::Adreno6xx | Family::Adreno7xx | Family::Adreno8xx => {
                &[Self::Arithmetic, Self::Special, Self::LoadStore, Self::Texture]
            }
        }
    }

    /// The column's heading: `A`, `FMA`, `LS` ... as in malioc, and for Adreno as in Qualcomm's tools.
    pub fn head(self, family: Family) -> &'static str {
        let adreno = family.vendor() == Vendor::Qualcomm;
        match self {
            Self::Arithmetic if adreno => "ALU",
            Self::Arithmetic => "A",
            Self::Fma => "FMA",
            Self::Convert => "CVT",
            Self::Special if adreno => "EFU",
            Self::Special => "SFU",
            Self::LoadStore => "LS",
            Self::Texture => "T",
        }
    }

    /// Whether it is part of [`Column::Arithmetic`] rather than separate from it.
    pub fn is_part(self, family: Family) -> bool {
        matches!(family, Family::Valhall | Family::Arm5thGen)
            && matches!(self, Self::Fma | Self::Convert | Self::Special)
    }

    /// The count issued for this column, from the counts issued per pipe.
    pub fn emitted(self, family: Family, emitted: &[u32; Pipe::ALL.len()]) -> u32 {
        let at = |pipe: Pipe| emitted[pipe.index()];
        match self {
            Self::Arithmetic if Self::Fma.is_part(family) => {
                at(Pipe::Fma) + at(Pipe::Convert) + at(Pipe::Special)
            }
            Self::Arithmetic => at(Pipe::Arithmetic),
            Self::Fma => at(Pipe::Fma),
            Self::Convert => at(Pipe::Convert),
            Self::Special => at(Pipe::Special),
            Self::LoadStore => at(Pipe::LoadStore),
            Self::Texture => at(Pipe::Texture),
        }
    }

    /// The cost of this column from the clocks of the pipes, term by term.
    pub(crate) fn cost(self, gpu: &Gpu, pipes: &[Polynomial]) -> Polynomial {
        Polynomial::by_term(pipes, |factors| {
            let mut clocks = [0.0; Pipe::ALL.len()];
            clocks.iter_mut().zip(factors).for_each(|(clocks, factor)| *clocks = *factor);
            self.cycles(gpu, &clocks)
        })
    }

    /// Cycles of this column for a work-item, from the clocks that each pipe is busy for it.
    pub fn cycles(self, gpu: &Gpu, clocks: &[f64; Pipe::ALL.len()]) -> f64 {
        let at = |pipe: Pipe| clocks[pipe.index()];
        let rate = &gpu.operations_per_clock_per_core;
        let pipes = f64::from(gpu.core.arithmetic_pipes.value.max(1));
        let lanes = pipes * gpu.core.lanes_per_pipe.as_ref().map_or(1.0, |lanes| f64::from(lanes.value));
        let per = |rate: u32| 1.0 / f64::from(rate.max(1));
        match (self, gpu.family()) {
            (Self::Arithmetic, Family::Midgard | Family::Bifrost) => at(Pipe::Arithmetic) / lanes,
            (Self::Arithmetic, Family::Valhall | Family::Arm5thGen) => {
                let (fma, convert, special) = (at(Pipe::Fma), at(Pipe::Convert), at(Pipe::Special));
                gpu.core
                    .issue_rule
                    .as_ref()
                    .map_or(fma.max(convert), |rule| rule.value.cycles(fma, convert, special))
                    / lanes
            }
            (Self::Arithmetic, _) => at(Pipe::Arithmetic) * per(rate.fp32_fma.value),
            (Self::Fma, _) => at(Pipe::Fma) * per(rate.fp32_fma.value),
            (Self::Convert, _) => {
                at(Pipe::Convert) * per(rate.convert.as_ref().map_or(rate.int32_add.value, |rate| rate.value))
            }
            (Self::Special, Family::Valhall | Family::Arm5thGen) => {
                at(Pipe::Special) * per(rate.special.value)
            }
            (Self::Special, _) => at(Pipe::Special) * per(rate.fp32_fma.value),
            (Self::LoadStore, _) => {
                at(Pipe::LoadStore) / gpu.memory.load_store_issue_per_clock.value.max(0.01)
            }
            (Self::Texture, _) => {
                let texels = gpu.texture.image_accesses_per_clock.as_ref();
                at(Pipe::Texture) / texels.unwrap_or(&gpu.texture.texels_per_clock).value.max(0.01)
            }
        }
    }
}
