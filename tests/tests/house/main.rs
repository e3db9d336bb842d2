//! Rules of the house: documents, tables of edges, the direction of modules, the corpora of the fuzz targets, and programs that change their datapath
//! by one line.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what they measured"
)]

mod edges;
mod events;
mod fuzz_corpus;
mod guide;
mod module_circles;
mod one_line;
