//! Guides to what is written outside: a Chunnel, a pass over it, and an application that uses both.
//!
//! Their code is that of three crates in the repository's `tests/outside`, which know Bertha by its published names alone
//! and are built and tested with every change. A test holds the guide against them, word for word.

#[doc = include_str!("pass.md")]
pub mod pass {}
