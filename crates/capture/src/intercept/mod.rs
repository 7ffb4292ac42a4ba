//! Captures of the OpenCL intercept layer (control `CaptureReplay`): a folder `Enqueue_N_KERNEL` for each enqueue.
//!
//! | file | contents |
//! |---|---|
//! | `kernel.cl`, `kernel.spv` | the program, as far as the driver returns it |
//! | `buildOptions.txt`, `kernelName.txt`, `enqueueNumber.txt` | one line each |
//! | `worksizes.txt` | global size, local size (zeros for `NULL`), offset: a line each, a number per dimension |
//! | `ArgumentN.bin` | the bytes passed to `clSetKernelArg`; of memory objects and samplers the handle |
//! | `LocalN.txt` | the size, if the value was `NULL`: local memory, or a null pointer |
//! | `SamplerN.txt` | a sampler's properties |
//! | `Image_MetaData_N.txt` | nine numbers: width, height, depth, bytes of a texel, row pitch, slice pitch, channel type, channel order, object type |
//! | `SVM_Arg_Offset_N.txt` | bytes from the start of the memory that the kernel's pointer skips; 0 for buffers |
//! | `Pre/`, `Post/` | `Enqueue_..._Arg_N_Buffer_....bin` and `..._Image_....raw`: memory before and after, without gaps |

mod arguments;
mod enqueue;

pub use arguments::{Declared, ImageKind};
pub use enqueue::{Enqueue, find};
