//! Chains of stages.

use super::{Border, FilterError, Raster, Stage};

/// Stages applied in sequence. Each one processes the whole image that the previous one made: its result is rounded
/// to its element type, and its pixels outside the image follow [`Chain::border`]. The implementation chooses the
/// number of passes over memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chain {
    /// The stages, at least one.
    pub stages: Vec<Stage>,
    /// What windows see outside.
    pub border: Border,
    /// Whether the last of 4 channels is alpha. Stages with a window then copy it (rounded to the result's type) and
    /// filter the other three channels.
    pub keep_alpha: bool,
}

impl Chain {
    /// A chain of these stages, in which a fourth channel is one like the others.
    pub fn new(stages: Vec<Stage>, border: Border) -> Self {
        Self { stages, border, keep_alpha: false }
    }

    /// A chain of one stage.
    pub fn one(stage: Stage, border: Border) -> Self {
        Self::new(vec![stage], border)
    }

    /// Sets whether the last of 4 channels is alpha.
    #[must_use]
    pub fn keep_alpha(mut self, keep_alpha: bool) -> Self {
        self.keep_alpha = keep_alpha;
        self
    }

    /// The same with other stages.
    #[must_use]
    pub fn with_stages(&self, stages: Vec<Stage>) -> Self {
        Self { stages, ..*self }
    }

    /// The image that the chain makes of `from`: packed or planar as `from` is, without gaps.
    ///
    /// # Errors
    /// The chain has no stage, or a stage does not accept the output of the previous one.
    pub fn apply_to(&self, from: &Raster) -> Result<Raster, FilterError> {
        if self.stages.is_empty() {
            return Err(FilterError::NoStage);
        }
        self.stages.iter().try_fold(*from, |raster, stage| stage.apply_to(&raster))
    }

    /// Checks that the chain turns an image like `from` into one like `to`: extents, channels, element type. Layout
    /// and offset are free.
    ///
    /// # Errors
    /// As [`Self::apply_to`] and [`Raster::elements`]; the result differs from `to`.
    pub fn check(&self, from: &Raster, to: &Raster) -> Result<(), FilterError> {
        from.elements()?;
        to.elements()?;
        let want = self.apply_to(from)?;
        let shape = |raster: &Raster| (raster.size(), raster.channels, raster.element);
        if shape(&want) == shape(to) {
            return Ok(());
        }
        Err(FilterError::result(want.size(), want.channels, want.element, to))
    }
}
