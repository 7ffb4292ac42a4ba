//! The rewrites, one a file.

mod address;
mod batch_loads;
mod block;
mod buffer_to_image;
mod clamp_indices;
mod coarsen;
mod compiled_branches;
mod count_loops;
mod counted;
mod effects;
mod fuse_launches;
mod half_precision;
mod inline_helpers;
mod integer_dot;
mod merge_accesses;
mod multiply_add;
mod narrow_index;
mod native_functions;
mod outputs;
mod powers;
mod reaching;
mod reciprocals;
mod resize_work_group;
mod restrict_pointers;
mod row_per_group;
mod share_loads;
mod specialise_arguments;
mod stage_tile;
mod swap_dimensions;
mod tabulate;
mod text;
mod tile_product;
mod unflatten;
mod unroll_loop;
mod unstage_tile;
mod widen;

use crate::Rewrite;
pub use fuse_launches::{Fused, Pair, fuse};

/// Lists rewrites by their modules, and whether they only prepare.
macro_rules! all {
    ($($name:ident: $prepares:literal,)*) => {
        /// All rewrites.
        pub const ALL: &[Rewrite] = &[
            $(Rewrite { rule: &$name::RULE, prepares: $prepares, proposals: $name::proposals }),*
        ];
    };
}

all! {
    compiled_branches: true,
    inline_helpers: true,
    clamp_indices: true,
    count_loops: true,
    unstage_tile: true,
    swap_dimensions: false,
    specialise_arguments: false,
    unflatten: false,
    tile_product: false,
    widen: false,
    block: false,
    coarsen: false,
    fuse_launches: false,
    half_precision: false,
    integer_dot: false,
    batch_loads: false,
    merge_accesses: false,
    share_loads: false,
    buffer_to_image: false,
    narrow_index: false,
    restrict_pointers: false,
    stage_tile: false,
    row_per_group: false,
    unroll_loop: false,
    powers: false,
    tabulate: false,
    reciprocals: false,
    native_functions: false,
    multiply_add: false,
    resize_work_group: false,
}
