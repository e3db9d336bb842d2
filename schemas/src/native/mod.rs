//! Messages as they lie in memory, from memory to memory.

mod copy;
mod frame;
mod measure;
mod partly;

pub(crate) use frame::FIRST;
pub use frame::Frame;
pub use partly::Partly;

#[cfg(test)]
mod tests;
