//! Global allocators that count, for tests and benchmarks which claim that an operation allocates nothing.
//!
//! A program counts once it installs one of these allocators:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: bertha_allocations::Counting = bertha_allocations::Counting;
//!
//! let (sum, calls) = bertha_allocations::in_thread(|| 1 + 1);
//! assert_eq!((sum, calls), (2, 0));
//! ```

mod counting;
mod live;

pub use counting::{Counting, OfProcess, in_thread, of_thread};
pub use live::{Live, live_bytes};
