//! The work of rate.

use super::cached::facts;
use crate::hotel::messages::{Plan, PlanList, Stay};
use crate::hotel::services::{Rate, Work};
use crate::hotel::times::Times;
use crate::hotel::{Data, Memcached};
use bertha_core::Error;

/// Finds plans, with a cache of them.
#[derive(Debug)]
pub struct Priced {
    data: Data,
    cache: Option<Memcached>,
}

impl Priced {
    /// Creates the work with the prices of some hotels.
    pub fn new(data: Data, cache: Option<Memcached>) -> Self {
        Self { data, cache }
    }
}

impl Work<Rate> for Priced {
    async fn work(&self, stay: Stay, _: &mut Times) -> Result<PlanList, Error> {
        let cache = self.cache.as_ref();
        let all: Vec<Vec<Plan>> = facts(cache, "rate", &stay.hotels, |hotel| self.data.plans(hotel)).await;
        // Days that are written so are in order as texts are.
        let is_for_stay = |plan: &Plan| plan.from <= stay.from && stay.until <= plan.until;
        let plans = all.into_iter().flatten().filter(is_for_stay).collect();
        Ok(PlanList { plans, ..PlanList::default() })
    }
}
