//! The ways of operators: `orders` reads what they ask for, `operator` does it while calls flow, and `metrics` shows the counts.

pub(crate) mod metrics;
pub(crate) mod operator;
pub(crate) mod orders;
