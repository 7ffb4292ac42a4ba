//! Images of the simulator, compared with models of the specification and with OpenCL devices.

mod device;
mod formats;
mod reads;
