//! Instructions that the GPU issues a second, measured: a kernel's speed is judged by them.

use super::CudaError;
use super::device::{Device, failed};
use super::p2p::Number;
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use pg2::backend::cuda::{CEILING, CEILING_CHAINS};

const BLOCKS: u32 = 132 * 64;
const STEPS: i32 = 4096;
const TIMES: usize = 5;

/// Instructions of single threads a second: fused multiply-adds of f32, the best of some launches.
pub fn instructions(device: &mut Device) -> Result<f64, CudaError> {
    measured::<f32>(device, CEILING)
}

/// The same of f64.
pub fn instructions_f64(device: &mut Device) -> Result<f64, CudaError> {
    measured::<f64>(device, &CEILING.replace("float", "double").replace("1.0f", "1.0"))
}

fn measured<T: Number>(device: &mut Device, text: &str) -> Result<f64, CudaError> {
    let function = device.function(text, "ceiling", T::ARITHMETIC)?;
    let mut out = device.allocate::<T>(BLOCKS as usize * 256)?;
    let mut best = f64::MAX;
    for _ in 0..TIMES {
        let (factor, steps) = (T::of(0.999), STEPS);
        let config = LaunchConfig { grid_dim: (BLOCKS, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let mut launch = device.stream.launch_builder(&function);
        launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        launch.arg(&mut out).arg(&factor).arg(&steps);
        // SAFETY: the arguments are those of the kernel, which writes a number for each thread.
        let events = unsafe { launch.launch(config) }.map_err(|e| failed("the GPU does not start the kernel", e))?;
        if let Some((start, end)) = events {
            best = best.min(start.elapsed_ms(&end).map_err(|e| failed("the GPU failed", e))? as f64 * 1e-3);
        }
    }
    Ok(BLOCKS as f64 * 256.0 * CEILING_CHAINS as f64 * STEPS as f64 / best)
}
