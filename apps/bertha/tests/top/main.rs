//! `bertha top`: the document for scripts, and the screen as a terminal shows it.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

mod json;
mod scene;
mod screen;
mod terminal;
