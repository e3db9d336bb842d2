//! Engines of operators, in shared libraries with the C interface of `bertha-plugin`.
//!
//! A library is a part of the process, and as trusted as the process. Mistakes of it that can be seen are errors that name them: files that
//! are no such library, functions that are missing, verdicts that there are none of.
//!
//! ```text
//!  file ──▶ sealed copy ──▶ library ──▶ kind ──▶ engines
//! ```
//!
//! A copy of the file is what is opened: a file that is written anew or truncated later harms nobody, and the version that takes its place
//! is another library, also under the same path. It stays open as long as the kind or an engine of it lives.

mod elf;
mod engine;
mod file;
mod kind;
mod library;
mod reads;
mod trial;
mod verdict;

pub use kind::Plugin;

#[cfg(test)]
mod tests;
