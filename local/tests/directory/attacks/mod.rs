//! Attacks of other processes on a directory, its services and its clients. The table of edges is in `../edges.md`.

mod attached;
mod deaf;
mod packets;
mod refusals;
mod silence;
mod squatter;
mod visits;
