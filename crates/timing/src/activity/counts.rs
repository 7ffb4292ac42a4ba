//! Counts of what happened.

use tripipe_machine::Pipe;

use crate::traffic::Traffic;

/// Declares the counts with their documentation: those that follow from the code and the addresses alone, and those that
/// depend on what happens when.
macro_rules! counts {
    (code { $($(#[$code_doc:meta])* $code:ident,)* } time { $($(#[$time_doc:meta])* $time:ident,)* }) => {
        /// How often things happened, summed over all cores. If only a part of a launch was played, counts are
        /// extrapolated, so they need not be whole numbers.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Counts {
            $($(#[$code_doc])* pub $code: f64,)*
            $($(#[$time_doc])* pub $time: f64,)*
        }

        impl Counts {
            /// The names of all counts.
            pub const NAMES: &[&str] = &[$(stringify!($code),)* $(stringify!($time),)*];

            /// The count of that name.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($code) => Some(self.$code),)*
                    $(stringify!($time) => Some(self.$time),)*
                    _ => None,
                }
            }

            /// Adds the counts of another part, `times` each.
            #[must_use]
            pub(crate) fn plus(mut self, other: &Self, times: f64) -> Self {
                // `times` is -1 where the counts of a part are the difference of two moments.
                $(self.$code += other.$code * times;)*
                $(self.$time += other.$time * times;)*
                self
            }

            /// Replaces the counts that follow from the code by others, `times` each.
            #[must_use]
            pub(crate) fn with_code(mut self, other: &Self, times: f64) -> Self {
                $(self.$code = other.$code * times;)*
                self
            }
        }
    };
}

counts! {
    code {
        /// Words of the arithmetic pipe: Midgard bundles, Bifrost tuples, Adreno instructions in issues of 32-bit ones. One
        /// for each warp that executes it, as for all words and instructions here.
        arithmetic_words,
        /// Instructions of the FMA pipe (Valhall and later).
        fma_instructions,
        /// Instructions of the CVT pipe (Valhall and later).
        convert_instructions,
        /// Instructions of the SFU pipe or the EFU.
        special_instructions,
        /// Words for the load/store pipe.
        load_store_words,
        /// Words for the texture pipe.
        texture_words,
        /// Words and instructions of arithmetic that some work-items of the warp did not take part in.
        diverged_words,
        /// Words and instructions of arithmetic whose operations are all of at most 16 bits.
        narrow_words,
        /// Work-items that took part in words and instructions of arithmetic.
        active_lanes,
        /// Lanes of the warps that executed them.
        lanes,
        /// Clocks of arithmetic, by engine; of the FMA pipe on GPUs with parallel pipes.
        arithmetic_clocks,
        /// Clocks of the CVT pipe, by engine, where it runs beside the FMA pipe.
        convert_clocks,
        /// Clocks of the SFU pipe or the EFU, by engine.
        special_clocks,
        /// Clocks of the load/store pipes.
        load_store_clocks,
        /// Clocks of the texture pipes.
        texture_clocks,
        /// Clocks of dedicated local memory.
        local_clocks,
        /// Of the clocks of the load/store pipes, those of loads in which a lane moves 32 bits or more on average.
        load_full_clocks,
        /// The same of narrower loads.
        load_partial_clocks,
        /// The same as `load_full_clocks` of stores.
        store_full_clocks,
        /// The same of narrower stores.
        store_partial_clocks,
        /// Clocks of the load/store pipes for atomic operations.
        atomic_clocks,
        /// Clocks of the load/store pipes for words without an address.
        other_clocks,
        /// Loads of global and constant memory and of private variables.
        global_loads,
        /// Stores to global memory, images and private variables.
        global_stores,
        /// Atomic operations on global memory.
        global_atomics,
        /// Loads of local memory.
        local_loads,
        /// Stores to local memory.
        local_stores,
        /// Atomic operations on local memory.
        local_atomics,
        /// Floating-point operations of work-items: [`Kernel::float_operations`](tripipe_ir::Kernel::float_operations).
        float_operations,
        /// Bytes that work-items loaded, image reads aside.
        loaded_bytes,
        /// Bytes that work-items stored.
        stored_bytes,
        /// Work-items' reads of texels.
        texels,
        /// Groups of up to four work-items that read texels.
        texel_quads,
        /// Warps that arrived at a barrier.
        barriers,
        /// Lines that loads asked the L1 for.
        l1_reads,
        /// Lines that stores asked the L1 for.
        l1_writes,
        /// Lines on which atomic operations were executed in the L2.
        l1_atomics,
        /// Lines that image reads asked the texture cache for.
        texture_lookups,
    }
    time {
        /// Work-groups that ended.
        work_groups,
        /// Warps that started; threads on GPUs whose threads run one by one.
        warps,
        /// Warps with a work-item in each lane.
        full_warps,
        /// Work-items that started.
        threads,
        /// Lines of loads that hit in the L1.
        l1_read_hits,
        /// Lines of stores that hit in the L1.
        l1_write_hits,
        /// Lines that the L1 fetched from the L2.
        l1_fetches,
        /// Modified lines that left the L1.
        l1_evictions,
        /// Lines of image reads that hit in the texture cache.
        texture_hits,
        /// Lines that the texture cache fetched from the L2.
        texture_fetches,
        /// Lines that cores read from the L2.
        l2_reads,
        /// Hits among them.
        l2_read_hits,
        /// Lines that cores wrote to the L2.
        l2_writes,
        /// Hits among them.
        l2_write_hits,
        /// Bytes from the L2 to the load/store pipes.
        l2_load_bytes,
        /// Bytes from the L2 to the texture pipes.
        l2_texture_bytes,
        /// Bytes from the cores to the L2.
        l2_written_bytes,
        /// Bytes that the L2 read from beyond it: the system cache, or DRAM.
        external_read_bytes,
        /// Those of loads among them.
        external_load_bytes,
        /// Those of image reads among them.
        external_texture_bytes,
        /// Bytes that the L2 wrote back.
        external_written_bytes,
        /// Bytes read from DRAM.
        dram_read_bytes,
        /// Bytes written to DRAM.
        dram_written_bytes,
        /// Translations that a core did not remember.
        tlb_misses,
        /// Clocks during which cores had a warp, by core.
        core_clocks,
        /// Work-items on the cores, times clocks.
        thread_clocks,
        /// Clocks that warps waited for results of loads, by warp.
        wait_load_store_clocks,
        /// Clocks that warps waited for results of image reads, by warp.
        wait_texture_clocks,
        /// Clocks that warps waited at barriers, by warp.
        wait_barrier_clocks,
        /// Clocks that warps waited for a pipe that others used, by warp.
        wait_pipe_clocks,
    }
}

impl Counts {
    /// Words or instructions of a pipe.
    pub fn words(&self, pipe: Pipe) -> f64 {
        // A copy is cheap and saves a second list of pipes.
        let mut counts = *self;
        *counts.words_mut(pipe)
    }

    pub(crate) fn words_mut(&mut self, pipe: Pipe) -> &mut f64 {
        match pipe {
            Pipe::Arithmetic => &mut self.arithmetic_words,
            Pipe::Fma => &mut self.fma_instructions,
            Pipe::Convert => &mut self.convert_instructions,
            Pipe::Special => &mut self.special_instructions,
            Pipe::LoadStore => &mut self.load_store_words,
            Pipe::Texture => &mut self.texture_words,
        }
    }

    /// Sets what the caches and memory counted.
    pub(crate) fn add_traffic(&mut self, traffic: &Traffic) {
        // Traffic counts hits and writes among all accesses, so no difference is below 0.
        let float = |count: u64| count as f64;
        self.l1_read_hits = float(traffic.l1_hits - traffic.l1_write_hits);
        self.l1_write_hits = float(traffic.l1_write_hits);
        self.l1_fetches = float(traffic.l1_fetches);
        self.l1_evictions = float(traffic.l1_evictions);
        self.texture_hits = float(traffic.texture_hits);
        self.texture_fetches = float(traffic.texture_fetches);
        self.l2_reads = float(traffic.l2_accesses - traffic.l2_writes);
        self.l2_read_hits = float(traffic.l2_hits - traffic.l2_write_hits);
        self.l2_writes = float(traffic.l2_writes);
        self.l2_write_hits = float(traffic.l2_write_hits);
        self.l2_load_bytes = float(traffic.l2_load_bytes);
        self.l2_texture_bytes = float(traffic.l2_texture_bytes);
        self.l2_written_bytes = float(traffic.l2_written_bytes);
        self.external_load_bytes = float(traffic.external_load_bytes);
        self.external_texture_bytes = float(traffic.external_texture_bytes);
        self.external_read_bytes = self.external_load_bytes + self.external_texture_bytes;
        self.external_written_bytes = float(traffic.external_written_bytes);
        self.dram_read_bytes = float(traffic.dram_read_bytes);
        self.dram_written_bytes = float(traffic.dram_written_bytes);
        self.tlb_misses = float(traffic.tlb_misses);
    }
}
