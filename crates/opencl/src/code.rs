//! The driver's status codes, by name and meaning.

use std::fmt;

use cl3::error_codes as codes;
use thiserror::Error;

/// A status code of the OpenCL driver. 0 is success; all errors are negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

impl Code {
    /// The code's name in the OpenCL headers, `unknown code` for one that is in none of them.
    pub fn name(self) -> &'static str {
        match codes::error_text(self.0) {
            "UNKNOWN_ERROR" => "unknown code",
            "DLOPEN_RUNTIME_LOAD_FAILED" => "library not loaded",
            "DLOPEN_FUNCTION_NOT_AVAILABLE" => "function missing in the library",
            name => name,
        }
    }

    /// What the code means, in a few words; empty for codes that say it by their name.
    pub fn meaning(self) -> &'static str {
        match self.0 {
            codes::CL_DEVICE_NOT_FOUND => "the platform has no such device",
            codes::CL_DEVICE_NOT_AVAILABLE => "the device is gone or taken",
            codes::CL_COMPILER_NOT_AVAILABLE => "the driver has no compiler for source code",
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE => "no memory for the object",
            codes::CL_OUT_OF_RESOURCES => "the device is out of memory or another resource",
            codes::CL_OUT_OF_HOST_MEMORY => "the host is out of memory",
            codes::CL_PROFILING_INFO_NOT_AVAILABLE => {
                "the queue does not profile, or the command has not ended"
            }
            codes::CL_IMAGE_FORMAT_NOT_SUPPORTED => "the device does not offer this image format",
            codes::CL_BUILD_PROGRAM_FAILURE => "the program does not compile",
            codes::CL_MAP_FAILURE => "the object cannot be mapped into host memory",
            codes::CL_MISALIGNED_SUB_BUFFER_OFFSET => "the offset is not aligned as the device wants it",
            codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => "an earlier command failed",
            codes::CL_KERNEL_ARG_INFO_NOT_AVAILABLE => "the driver keeps no argument information",
            codes::CL_INVALID_BINARY => "the driver does not take this program binary",
            codes::CL_INVALID_BUILD_OPTIONS => "a build option the compiler does not know",
            codes::CL_INVALID_KERNEL_NAME => "the program has no such kernel",
            codes::CL_INVALID_KERNEL_ARGS => "an argument is missing or of another kind",
            codes::CL_INVALID_WORK_GROUP_SIZE => "the work-group size does not fit the kernel or the range",
            codes::CL_INVALID_COMMAND_QUEUE => {
                "the queue is no longer valid, often because the device was reset"
            }
            codes::CL_INVALID_BUFFER_SIZE => "0 or more bytes than the device can give",
            codes::CL_PLATFORM_NOT_FOUND_KHR => "the ICD loader found no installed driver",
            codes::CL_CONTEXT_TERMINATED_KHR => "the context was terminated by the driver",
            -9999 => "NVIDIA: the kernel read or wrote memory that is not its own",
            codes::DLOPEN_RUNTIME_LOAD_FAILED => "no OpenCL library could be loaded",
            codes::DLOPEN_FUNCTION_NOT_AVAILABLE => "the library is not OpenCL, or of an older version",
            _ => "",
        }
    }

    /// Memory of the device (or the host) ran out. `CL_OUT_OF_RESOURCES` counts: drivers that allocate
    /// on first use report it then.
    pub fn is_out_of_memory(self) -> bool {
        matches!(
            self.0,
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE
                | codes::CL_OUT_OF_RESOURCES
                | codes::CL_OUT_OF_HOST_MEMORY
        )
    }

    /// The device or its context is no longer there. Nothing made from it works any more.
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

/// A driver call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{call}: {code}")]
pub struct CallError {
    /// The call, by its OpenCL name.
    pub call: &'static str,
    /// What it returned.
    pub code: Code,
}

impl CallError {
    /// The call could not be made, for there is no library.
    pub(crate) fn no_library(call: &'static str) -> Self {
        Self { call, code: Code(codes::DLOPEN_RUNTIME_LOAD_FAILED) }
    }

    /// Puts the call's name to a status code.
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
    fn lost_and_out_of_memory_are_told_apart() {
        for code in [-4, -5, -6] {
            assert!(Code(code).is_out_of_memory() && !Code(code).is_device_lost(), "{code}");
        }
        for code in [-2, -36, -1121, -9999] {
            assert!(Code(code).is_device_lost() && !Code(code).is_out_of_memory(), "{code}");
        }
    }
}
