//! `bertha top`: the document for scripts, and the screen as a terminal shows it.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod json;
mod scene;
mod screen;
mod terminal;
