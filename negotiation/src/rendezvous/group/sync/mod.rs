//! The atomics and threads of counting; tests under loom replace them by loom's.

#[cfg(all(test, loom))]
mod modelled;
#[cfg(not(all(test, loom)))]
mod native;

#[cfg(all(test, loom))]
pub(super) use modelled::*;
#[cfg(not(all(test, loom)))]
pub(super) use native::*;
