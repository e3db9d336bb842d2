//! Bertha for Python: the native module `bertha._bertha` of the package `bertha-net`.
//!
//! The methods of Python return an `Operation`. It is tried at once in the calling thread; what is not done then waits in an event
//! loop of asyncio, which a `Bell` wakes, or in the calling thread, which a signal wakes as well. What it does is a
//! `Work`, which knows nothing of Python: neither the runtime nor its wakers ever need the interpreter.
//!
//! `memory.rs` alone has `unsafe`.

#![deny(unsafe_code)]

mod bell;
mod calls;
mod failure;
mod listener;
mod memory;
mod operation;
mod parker;
mod receiving;
mod runtime;
mod sending;
mod server;
mod streams;
mod task;
mod told;
mod waiting;

use pyo3::prelude::*;

#[pymodule]
fn _bertha(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<operation::Connection>()?;
    module.add_class::<listener::Listener>()?;
    module.add_class::<operation::Operation>()?;
    module.add_function(wrap_pyfunction!(listener::connect, module)?)?;
    module.add_function(wrap_pyfunction!(listener::listen, module)?)?;
    module.add_class::<streams::Requests>()?;
    module.add_function(wrap_pyfunction!(calls::call, module)?)?;
    module.add_function(wrap_pyfunction!(calls::serve, module)?)?;
    module.add_function(wrap_pyfunction!(calls::codecs, module)?)?;
    module.add_function(wrap_pyfunction!(calls::number_of, module)?)?;
    module.add_function(wrap_pyfunction!(listener::datapaths, module)?)?;
    module.add_function(wrap_pyfunction!(listener::chunnels, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::exiting, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
