//! The numbers of the fields and values of Perfetto's messages that are written, as in its descriptors (0.59.1).

pub(super) mod trace {
    pub(in super::super) const PACKET: u32 = 1;
}

pub(super) mod packet {
    pub(in super::super) const TIMESTAMP: u32 = 8;
    pub(in super::super) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(in super::super) const TRACK_EVENT: u32 = 11;
    pub(in super::super) const INTERNED_DATA: u32 = 12;
    pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
    pub(in super::super) const GPU_COUNTER_EVENT: u32 = 52;
    pub(in super::super) const GPU_RENDER_STAGE_EVENT: u32 = 53;
    pub(in super::super) const TRACK_DESCRIPTOR: u32 = 60;
    pub(in super::super) const FIRST_PACKET_ON_SEQUENCE: u32 = 87;
    pub(in super::super) const GPU_INFO: u32 = 128;

    pub(in super::super) const INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub(in super::super) const NEEDS_INCREMENTAL_STATE: u64 = 2;
}

pub(super) mod interned {
    pub(in super::super) const GRAPHICS_CONTEXTS: u32 = 23;
    pub(in super::super) const GPU_SPECIFICATIONS: u32 = 24;
    pub(in super::super) const IID: u32 = 1;
    /// Of a specification.
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const CATEGORY: u32 = 4;
    pub(in super::super) const COMPUTE: u64 = 2;
    /// Of a graphics context.
    pub(in super::super) const PID: u32 = 2;
    pub(in super::super) const API: u32 = 3;
    pub(in super::super) const OPEN_CL: u64 = 3;
}

pub(super) mod gpu_info {
    pub(in super::super) const GPUS: u32 = 1;
    pub(in super::super) const NAME: u32 = 1;
}

pub(super) mod stage_event {
    pub(in super::super) const EVENT_ID: u32 = 1;
    pub(in super::super) const DURATION: u32 = 2;
    pub(in super::super) const CONTEXT: u32 = 5;
    pub(in super::super) const EXTRA_DATA: u32 = 6;
    pub(in super::super) const GPU_ID: u32 = 11;
    pub(in super::super) const HW_QUEUE_IID: u32 = 13;
    pub(in super::super) const STAGE_IID: u32 = 14;
    pub(in super::super) const NAME: u32 = 17;
    pub(in super::super) const LAUNCH: u32 = 21;
    pub(in super::super) const EXTRA_NAME: u32 = 1;
    pub(in super::super) const EXTRA_VALUE: u32 = 2;
}

pub(super) mod launch {
    pub(in super::super) const GRID_SIZE: u32 = 1;
    pub(in super::super) const WORK_GROUP_SIZE: u32 = 2;
    pub(in super::super) const ARGS: u32 = 3;
    pub(in super::super) const ARG_NAME: u32 = 2;
    pub(in super::super) const ARG_UINT: u32 = 4;
}

pub(super) mod counter_event {
    pub(in super::super) const COUNTER_DESCRIPTOR: u32 = 1;
    pub(in super::super) const COUNTERS: u32 = 2;
    pub(in super::super) const GPU_ID: u32 = 3;
    pub(in super::super) const COUNTER_ID: u32 = 1;
    pub(in super::super) const DOUBLE_VALUE: u32 = 3;
}

pub(super) mod counter_spec {
    /// Of the descriptor.
    pub(in super::super) const SPECS: u32 = 1;
    pub(in super::super) const COUNTER_ID: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const DESCRIPTION: u32 = 3;
    pub(in super::super) const NUMERATOR_UNITS: u32 = 7;
    pub(in super::super) const DENOMINATOR_UNITS: u32 = 8;
    pub(in super::super) const SELECT_BY_DEFAULT: u32 = 9;
    pub(in super::super) const GROUPS: u32 = 10;
    pub(in super::super) const VALUE_DIRECTION: u32 = 11;

    pub(in super::super) const BYTE: u64 = 7;
    pub(in super::super) const SECOND: u64 = 22;
    pub(in super::super) const PERCENT: u64 = 37;
    pub(in super::super) const MEMORY: u64 = 5;
    pub(in super::super) const COMPUTE: u64 = 6;
    pub(in super::super) const BACKWARDS_LOOKING: u64 = 1;
}

pub(super) mod track {
    pub(in super::super) const UUID: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const PROCESS: u32 = 3;
    pub(in super::super) const PARENT_UUID: u32 = 5;
    pub(in super::super) const CHILD_ORDERING: u32 = 11;
    pub(in super::super) const SIBLING_ORDER_RANK: u32 = 12;
    pub(in super::super) const EXPLICIT: u64 = 3;
    /// Of a process.
    pub(in super::super) const PID: u32 = 1;
    pub(in super::super) const PROCESS_NAME: u32 = 6;
    pub(in super::super) const PROCESS_LABELS: u32 = 8;
}

pub(super) mod track_event {
    pub(in super::super) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(in super::super) const TYPE: u32 = 9;
    pub(in super::super) const TRACK_UUID: u32 = 11;
    pub(in super::super) const CATEGORIES: u32 = 22;
    pub(in super::super) const NAME: u32 = 23;

    pub(in super::super) const SLICE_BEGIN: u64 = 1;
    pub(in super::super) const SLICE_END: u64 = 2;
    pub(in super::super) const INSTANT: u64 = 3;
    /// Of an annotation.
    pub(in super::super) const UINT_VALUE: u32 = 3;
    pub(in super::super) const DOUBLE_VALUE: u32 = 5;
    pub(in super::super) const STRING_VALUE: u32 = 6;
    pub(in super::super) const ANNOTATION_NAME: u32 = 10;
}
