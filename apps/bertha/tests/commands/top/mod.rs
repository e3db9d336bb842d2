//! `bertha top`: the document for scripts, and the screen as a terminal shows it.

mod json;
mod scene;
mod screen;
mod terminal;
