//! Clients that say nothing, are of other users, ask for much, or attach descriptors; and servers that start again. Apart from the
//! tests of `ends`, which count the memory that their process has. The table of edges is in `../edges.md`.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod attached;
mod rings;
mod silent;
