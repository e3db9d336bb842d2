//! The engines that are built in.

mod acl;
mod metrics;
mod null;
mod qos;
mod quota;
mod rate_limit;
mod trace;

pub use acl::Acl;
pub use metrics::Metrics;
pub use null::Null;
pub use qos::Qos;
pub use quota::Quota;
pub use rate_limit::RateLimit;
pub use trace::Trace;

use crate::EngineKind;
use std::sync::Arc;

/// Returns the kinds of the engines that are built in.
pub fn built_in() -> [Arc<dyn EngineKind>; 7] {
    [
        Arc::new(Acl),
        Arc::new(Metrics),
        Arc::new(Null),
        Arc::new(Qos),
        Arc::new(Quota),
        Arc::new(RateLimit),
        Arc::new(Trace::default()),
    ]
}

#[cfg(test)]
mod tests;
