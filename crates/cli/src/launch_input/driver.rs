//! Drivers whose known defects are looked for.

use anyhow::{Context as _, Result, bail};
use tripipe::Choice;
use tripipe_device::drivers::{Driver, Maker};
use tripipe_device::{Gpu, Vendor};

use super::Description;
use crate::commands::resolve;

impl Description {
    /// The driver that the command line names, or the launch file: a version, a whole version string, or a live device as
    /// `opencl` or `opencl:N`. If it does not decide what `gpu` offers, the program is built as without it, which the
    /// second text says. A `target` takes precedence over both.
    ///
    /// # Errors
    /// It is not known; the device is not there.
    pub(crate) fn take_driver(
        &mut self,
        target: Option<&str>,
        gpu: Option<&'static Gpu>,
    ) -> Result<Option<(Driver, Option<String>)>> {
        if let Some(target) = target {
            self.more.driver = Some(target.to_owned());
        }
        let text = self.more.driver.as_ref().or(self.file.options.driver.as_ref());
        let Some(text) = text.cloned() else { return Ok(None) };
        let driver = match text.parse() {
            Ok(choice @ Choice::OpenCl(_)) => {
                let device = resolve(choice).context("--driver")?;
                let Some(probe) = device.probe() else { bail!("--driver {text}: want an OpenCL device") };
                Driver::of_device(probe).context("--driver")?
            }
            // Without a version, the GPU says what its versions look like.
            _ => match (Driver::read(&text, gpu), gpu) {
                (Err(_), Some(gpu)) if gpu.opencl_of(&text).is_err() => return Ok(None),
                (read, _) => read.context("--driver")?,
            },
        };
        let own = gpu.map(|gpu| match gpu.vendor() {
            Vendor::Arm => Maker::Mali,
            Vendor::Qualcomm => Maker::Adreno,
        });
        let maker = driver.version.scheme.maker();
        let is_others = own != Some(maker) && matches!(maker, Maker::Mali | Maker::Adreno | Maker::PowerVr);
        let mut left_out = None;
        if let Some(gpu) = gpu
            && !is_others
            && gpu.opencl_of(&text).is_err()
        {
            left_out = Some(format!(
                "what {} offers with driver {}: the program was built for the newest driver that is known",
                gpu.name(),
                driver.version
            ));
        }
        if gpu.is_none() || left_out.is_some() {
            (self.more.driver, self.file.options.driver) = (None, None);
        }
        Ok(Some((driver, left_out)))
    }
}
