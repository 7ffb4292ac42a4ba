//! The list of ladders.

use crate::ladder::Ladder;

/// All ladders.
pub fn ladders() -> &'static [Ladder] {
    &[
        crate::vector_add::LADDER,
        crate::saxpy::LADDER,
        crate::saxpy::LADDER_RATIO,
        crate::rgb_planar::LADDER,
        crate::rgb_planar::LADDER_BACK,
        crate::transpose::LADDER,
        crate::laplace::LADDER,
        crate::laplace_gray::LADDER,
        crate::gemm::LADDER,
        crate::gemm::LADDER_F16,
        crate::gemv::LADDER,
        crate::gemv_q4::LADDER,
    ]
}

/// The ladder with this name.
pub fn find(name: &str) -> Option<&'static Ladder> {
    ladders().iter().find(|ladder| ladder.name == name)
}
