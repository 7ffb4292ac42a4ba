//! Functions of the API and their parameters, as data.

use crate::functions::functions;

/// What a parameter's pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointee {
    /// Not read.
    Unread,
    /// A text that ends with a 0.
    Text,
    /// Words; the parameter of this name has their number.
    Words(&'static str),
    /// Bytes; the parameter of this name has their number.
    Bytes(&'static str),
    /// SPIR-V; the parameter of this name has the number of bytes.
    Module(&'static str),
    /// So many words.
    Fixed(usize),
    /// Pairs of words that end with a 0.
    Pairs,
    /// A `cl_image_format`.
    ImageFormat,
    /// A `cl_image_desc`.
    ImageDescription,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    /// Its name in Khronos' header.
    pub(crate) name: &'static str,
    /// Its type, e.g. `cl_mem` or `*const usize`.
    pub(crate) type_name: &'static str,
    /// What it points to.
    pub(crate) pointee: Pointee,
}

macro_rules! pointee {
    () => {
        Pointee::Unread
    };
    (text) => {
        Pointee::Text
    };
    (list $of:ident) => {
        Pointee::Words(stringify!($of))
    };
    (bytes $of:ident) => {
        Pointee::Bytes(stringify!($of))
    };
    (module $of:ident) => {
        Pointee::Module(stringify!($of))
    };
    (two) => {
        Pointee::Fixed(2)
    };
    (three) => {
        Pointee::Fixed(3)
    };
    (pairs) => {
        Pointee::Pairs
    };
    (format) => {
        Pointee::ImageFormat
    };
    (description) => {
        Pointee::ImageDescription
    };
}

/// The wait list of an enqueue.
const WAITS: [Parameter; 2] = [
    Parameter { name: "num_events_in_wait_list", type_name: "cl_uint", pointee: Pointee::Unread },
    Parameter {
        name: "event_wait_list",
        type_name: "*const cl_event",
        pointee: Pointee::Words("num_events_in_wait_list"),
    },
];

macro_rules! waits {
    (enqueue) => {
        &WAITS
    };
    (map) => {
        &WAITS
    };
    ($other:ident) => {
        &[]
    };
}

macro_rules! describe {
    ($(
        $kind:ident fn $name:ident(
            $($argument:ident: $ty:ty $(= $how:ident $(($of:ident))?)?),* $(,)?
        ) $(-> $result:ty)?;
    )*) => {
        /// A function of the API.
        #[allow(non_camel_case_types, reason = "the names in the API")]
        #[allow(clippy::enum_variant_names, reason = "the names in the API")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub(crate) enum Function { $($name,)* }

        impl Function {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Function] = &[$(Function::$name,)*];

            /// Its name.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Function::$name => stringify!($name),)* }
            }

            /// Its own parameters, and the wait list.
            fn lists(self) -> (&'static [Parameter], &'static [Parameter]) {
                match self { $(Function::$name => (
                    const { &[$(Parameter {
                        name: stringify!($argument),
                        type_name: stringify!($ty),
                        pointee: pointee!($($how $($of)?)?),
                    },)*] },
                    waits!($kind),
                ),)* }
            }
        }
    };
}
functions!(describe);

impl Function {
    /// Its parameters in order, without the places for an event and an error code.
    pub(crate) fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let (own, waits) = self.lists();
        own.iter().chain(waits)
    }

    /// The position of a parameter.
    pub(crate) fn position(self, name: &str) -> Option<usize> {
        self.parameters().position(|parameter| parameter.name == name)
    }

    /// Whether it returns an error code.
    pub(crate) fn has_code(self) -> bool {
        use Function as F;
        !matches!(
            self,
            F::clSVMAlloc
                | F::clSVMFree
                | F::clGetExtensionFunctionAddress
                | F::clGetExtensionFunctionAddressForPlatform
        )
    }

    /// Whether it only reads, sets or counts something.
    pub(crate) fn is_cheap(self) -> bool {
        let name = self.name();
        ["clGet", "clRetain", "clRelease", "clSetKernelArg"].iter().any(|start| name.starts_with(start))
    }

    /// Whether it puts a command into a queue.
    pub(crate) fn is_enqueue(self) -> bool {
        self.name().starts_with("clEnqueue")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn counts_are_parameters_before_or_after_their_pointers() {
        for function in Function::ALL {
            for parameter in function.parameters() {
                if let Pointee::Words(of) | Pointee::Bytes(of) | Pointee::Module(of) = parameter.pointee {
                    assert!(function.position(of).is_some(), "{}: {of}", function.name());
                }
            }
        }
    }

    #[test]
    fn enqueues_have_wait_lists() {
        let without: Vec<&str> = Function::ALL
            .iter()
            .filter(|function| function.is_enqueue() && function.position("event_wait_list").is_none())
            .map(|function| function.name())
            .collect();
        assert_eq!(without, ["clEnqueueMarker", "clEnqueueWaitForEvents", "clEnqueueBarrier"]);
    }
}
