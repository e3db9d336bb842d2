//! Messages as they lie in memory, from memory to memory.

mod copy;
mod frame;
mod measure;

pub(crate) use frame::FIRST;
pub use frame::Frame;

#[cfg(test)]
mod tests;
