//! The driver's status codes, by name and meaning.

use std::fmt;

use opencl_sys as codes;
use thiserror::Error;

use crate::api;

/// A status code of the OpenCL driver. 0 is success; all errors are negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

impl Code {
    /// The code's name in the OpenCL headers; `unknown code` if it is in none of them.
    pub fn name(self) -> &'static str {
        match self.0 {
            api::NO_LIBRARY => "library not loaded",
            api::NO_FUNCTION => "function missing in the library",
            api::NO_OBJECT => "success without an object",
            _ => self.header_name().unwrap_or("unknown code"),
        }
    }

    /// What the code means, in a few words; empty for self-explanatory names.
    pub fn meaning(self) -> &'static str {
        match self.0 {
            codes::CL_DEVICE_NOT_FOUND => "the platform has no such device",
            codes::CL_DEVICE_NOT_AVAILABLE => "the device is not available",
            codes::CL_COMPILER_NOT_AVAILABLE => "the driver has no compiler for source code",
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE => "no memory for the object",
            codes::CL_OUT_OF_RESOURCES => "the device is out of memory or another resource",
            codes::CL_OUT_OF_HOST_MEMORY => "the host is out of memory",
            codes::CL_PROFILING_INFO_NOT_AVAILABLE => {
                "the queue does not profile, or the command has not ended"
            }
            codes::CL_IMAGE_FORMAT_NOT_SUPPORTED => "the device does not support this image format",
            codes::CL_BUILD_PROGRAM_FAILURE => "the program does not compile",
            codes::CL_MAP_FAILURE => "the object cannot be mapped into host memory",
            codes::CL_MISALIGNED_SUB_BUFFER_OFFSET => "the offset is not aligned as the device requires",
            codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => "an earlier command failed",
            codes::CL_KERNEL_ARG_INFO_NOT_AVAILABLE => "the driver stores no argument information",
            codes::CL_INVALID_BINARY => "the driver does not accept this program binary",
            codes::CL_INVALID_BUILD_OPTIONS => "a build option the compiler does not know",
            codes::CL_INVALID_KERNEL_NAME => "the program has no such kernel",
            codes::CL_INVALID_KERNEL_ARGS => "an argument is missing or of another kind",
            codes::CL_INVALID_WORK_GROUP_SIZE => "the work-group size does not fit the kernel or the range",
            codes::CL_INVALID_COMMAND_QUEUE => {
                "the queue is no longer valid, often because the device was reset"
            }
            codes::CL_INVALID_BUFFER_SIZE => "0 bytes, or more than the device can allocate",
            codes::CL_PLATFORM_NOT_FOUND_KHR => "the ICD loader found no installed driver",
            codes::CL_CONTEXT_TERMINATED_KHR => "the context was terminated by the driver",
            -9999 => "NVIDIA: the kernel read or wrote outside of its memory",
            api::NO_LIBRARY => "no OpenCL library could be loaded",
            api::NO_FUNCTION => "the library is not OpenCL, or of an older version",
            _ => "",
        }
    }

    /// Whether the device (or the host) ran out of memory. `CL_OUT_OF_RESOURCES` counts: drivers that allocate on
    /// first use report it then.
    pub fn is_out_of_memory(self) -> bool {
        matches!(
            self.0,
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE
                | codes::CL_OUT_OF_RESOURCES
                | codes::CL_OUT_OF_HOST_MEMORY
        )
    }

    /// Whether the device or its context is lost. Objects made from it no longer work.
    pub fn is_device_lost(self) -> bool {
        matches!(
            self.0,
            codes::CL_DEVICE_NOT_AVAILABLE
                | codes::CL_INVALID_COMMAND_QUEUE
                | codes::CL_INVALID_CONTEXT
                | codes::CL_INVALID_DEVICE
                | codes::CL_CONTEXT_TERMINATED_KHR
                | codes::CL_PAGE_FAULT_IMG
                | codes::CL_GENERAL_FAULT_IMG
                | -9999
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)?;
        match self.meaning() {
            "" => Ok(()),
            meaning => write!(f, ": {meaning}"),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! names {
    ($($name:ident)*) => {
        impl Code {
            /// The code's name in the OpenCL headers; `None` if it is in none of them.
            pub fn header_name(self) -> Option<&'static str> {
                match self.0 {
                    $(codes::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

names! {
    CL_SUCCESS CL_DEVICE_NOT_FOUND CL_DEVICE_NOT_AVAILABLE CL_COMPILER_NOT_AVAILABLE
    CL_MEM_OBJECT_ALLOCATION_FAILURE CL_OUT_OF_RESOURCES CL_OUT_OF_HOST_MEMORY CL_PROFILING_INFO_NOT_AVAILABLE
    CL_MEM_COPY_OVERLAP CL_IMAGE_FORMAT_MISMATCH CL_IMAGE_FORMAT_NOT_SUPPORTED CL_BUILD_PROGRAM_FAILURE
    CL_MAP_FAILURE CL_MISALIGNED_SUB_BUFFER_OFFSET CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    CL_COMPILE_PROGRAM_FAILURE CL_LINKER_NOT_AVAILABLE CL_LINK_PROGRAM_FAILURE CL_DEVICE_PARTITION_FAILED
    CL_KERNEL_ARG_INFO_NOT_AVAILABLE CL_INVALID_VALUE CL_INVALID_DEVICE_TYPE CL_INVALID_PLATFORM
    CL_INVALID_DEVICE CL_INVALID_CONTEXT CL_INVALID_QUEUE_PROPERTIES CL_INVALID_COMMAND_QUEUE
    CL_INVALID_HOST_PTR CL_INVALID_MEM_OBJECT CL_INVALID_IMAGE_FORMAT_DESCRIPTOR CL_INVALID_IMAGE_SIZE
    CL_INVALID_SAMPLER CL_INVALID_BINARY CL_INVALID_BUILD_OPTIONS CL_INVALID_PROGRAM
    CL_INVALID_PROGRAM_EXECUTABLE CL_INVALID_KERNEL_NAME CL_INVALID_KERNEL_DEFINITION CL_INVALID_KERNEL
    CL_INVALID_ARG_INDEX CL_INVALID_ARG_VALUE CL_INVALID_ARG_SIZE CL_INVALID_KERNEL_ARGS
    CL_INVALID_WORK_DIMENSION CL_INVALID_WORK_GROUP_SIZE CL_INVALID_WORK_ITEM_SIZE CL_INVALID_GLOBAL_OFFSET
    CL_INVALID_EVENT_WAIT_LIST CL_INVALID_EVENT CL_INVALID_OPERATION CL_INVALID_GL_OBJECT
    CL_INVALID_BUFFER_SIZE CL_INVALID_MIP_LEVEL CL_INVALID_GLOBAL_WORK_SIZE CL_INVALID_PROPERTY
    CL_INVALID_IMAGE_DESCRIPTOR CL_INVALID_COMPILER_OPTIONS CL_INVALID_LINKER_OPTIONS
    CL_INVALID_DEVICE_PARTITION_COUNT CL_INVALID_PIPE_SIZE CL_INVALID_DEVICE_QUEUE CL_INVALID_SPEC_ID
    CL_MAX_SIZE_RESTRICTION_EXCEEDED CL_INVALID_COMMAND_BUFFER_KHR CL_INVALID_SYNC_POINT_WAIT_LIST_KHR
    CL_INCOMPATIBLE_COMMAND_QUEUE_KHR CL_INVALID_MUTABLE_COMMAND_KHR CL_PLATFORM_NOT_FOUND_KHR
    CL_CONTEXT_TERMINATED_KHR CL_DEVICE_PARTITION_FAILED_EXT CL_INVALID_PARTITION_COUNT_EXT
    CL_INVALID_PARTITION_NAME_EXT CL_INVALID_SEMAPHORE_KHR CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM
    CL_INVALID_ACCELERATOR_INTEL CL_INVALID_ACCELERATOR_TYPE_INTEL CL_INVALID_ACCELERATOR_DESCRIPTOR_INTEL
    CL_ACCELERATOR_TYPE_NOT_SUPPORTED_INTEL CL_CANCELLED_IMG
}

/// A driver call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{call}: {code}")]
pub struct CallError {
    /// The call, by its OpenCL name.
    pub call: &'static str,
    /// The status code it returned.
    pub code: Code,
}

impl CallError {
    /// The call could not be made because there is no library.
    pub(crate) fn no_library(call: &'static str) -> Self {
        Self { call, code: Code(api::NO_LIBRARY) }
    }

    /// Adds the call's name to a status code.
    pub(crate) fn at(call: &'static str) -> impl Fn(i32) -> Self {
        move |code| Self { call, code: Code(code) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_shows_its_name_number_and_meaning() {
        assert_eq!(
            Code(-5).to_string(),
            "CL_OUT_OF_RESOURCES (-5): the device is out of memory or another resource"
        );
        assert_eq!(
            Code(-1001).to_string(),
            "CL_PLATFORM_NOT_FOUND_KHR (-1001): the ICD loader found no installed driver"
        );
        assert_eq!(Code(-4321).to_string(), "unknown code (-4321)");
    }

    #[test]
    fn lost_devices_and_exhausted_memory_are_distinguished() {
        for code in [-4, -5, -6] {
            assert!(Code(code).is_out_of_memory() && !Code(code).is_device_lost(), "{code}");
        }
        for code in [-2, -36, -1121, -9999] {
            assert!(Code(code).is_device_lost() && !Code(code).is_out_of_memory(), "{code}");
        }
    }
}
