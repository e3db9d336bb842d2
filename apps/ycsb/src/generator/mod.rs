//! The number generators of YCSB's core workloads. All generators draw from a source of random bits that the
//! caller passes in, so that a seed fixes the whole sequence.

mod latest;
mod scrambled;
mod sequence;
mod uniform;
mod zipfian;

pub use latest::Latest;
pub use scrambled::{ScrambledZipfian, fnv_hash};
pub use sequence::InsertSequence;
pub use uniform::Uniform;
pub use zipfian::{THETA, Zipfian};
