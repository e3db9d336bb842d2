//! Connections of requests and replies as services of tower, and services of tower as answers.

mod answer;
mod requests;

pub use answer::answer;
pub use requests::Requests;
