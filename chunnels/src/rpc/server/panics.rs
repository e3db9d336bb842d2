//! Panics in the code of a service, which fail a single call.

use crate::rpc::Failure;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of a service for a call of `method`.
///
/// # Errors
/// A panic, which is logged here. The client learns that there was a panic, and not its text, which may hold secrets.
#[inline]
pub(super) fn caught<T>(method: u32, code: impl FnOnce() -> T) -> Result<T, Failure> {
    // A future that has panicked is dropped and never polled again. A service that others share sees to its own state, as it
    // has to with tasks that panic.
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| failure(method, &*panic))
}

#[cold]
fn failure(method: u32, panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let reason = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
    tracing::error!(
        method = format_args!("{method:#010x}"),
        reason,
        "a service has panicked; the call fails"
    );
    Failure::new("the service has panicked").after_running()
}
