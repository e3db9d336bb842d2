//! The functions of C. What comes from C is checked here, and so is what no panic may leave.
//!
//! # Safety
//! All functions ask the same of their caller: a pointer is null, or leads to memory of the stated length, of which nobody else has
//! use until the function returns; a text has a zero at its end. All else is checked: lengths, null, alignment where a type has any,
//! UTF-8, and handles, which are numbers.
#![allow(unsafe_code)]
#![allow(
    clippy::missing_safety_doc,
    reason = "it is the same for all functions, and stands in the head of the module"
)]

mod answer;
mod buffer;
mod burst;
mod call;
mod connect;
mod guard;
mod handle;
mod lasting;
mod listen;
mod message;
mod options;
mod pointers;
mod serve;
mod told;

pub use answer::*;
pub use buffer::*;
pub use burst::*;
pub use call::*;
pub use connect::*;
pub use handle::*;
pub use lasting::*;
pub use listen::*;
pub use message::*;
pub use options::*;
pub use serve::*;
pub use told::*;
