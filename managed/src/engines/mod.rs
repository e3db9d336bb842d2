//! The engines that are built in.

mod acl;
mod metrics;
mod null;
mod qos;
mod quota;
mod rate_limit;

pub use acl::Acl;
pub use metrics::Metrics;
pub use null::Null;
pub use qos::Qos;
pub use quota::Quota;
pub use rate_limit::RateLimit;

use crate::EngineKind;
use std::sync::Arc;

/// Returns the kinds of the engines that are built in.
pub fn built_in() -> [Arc<dyn EngineKind>; 6] {
    [Arc::new(Acl), Arc::new(Metrics), Arc::new(Null), Arc::new(Qos), Arc::new(Quota), Arc::new(RateLimit)]
}

#[cfg(test)]
mod tests;
