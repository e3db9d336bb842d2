//! Connections of requests and replies as services of tower's, and back.

mod answer;
mod requests;

pub use answer::answer;
pub use requests::Requests;
