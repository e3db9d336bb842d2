//! Reliable messages as a whole stack: over faulty links, over slow links, and the cost of a message.

mod allocations;
mod backpressure;
mod draining;
mod faults;
mod reference;
mod runtime_end;
mod utilisation;
