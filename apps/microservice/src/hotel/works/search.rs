//! The work of search.

use crate::hotel::messages::{Hotels, Place, Query, Stay};
use crate::hotel::services::{Geo, Next, Rate, Search, Work};
use crate::hotel::times::Times;
use bertha_core::Error;

/// Asks for the hotels near a place, and then for their prices.
#[derive(Debug)]
pub struct Searched<G, R> {
    geo: G,
    rate: R,
}

impl<G: Next<Geo>, R: Next<Rate>> Searched<G, R> {
    /// Creates the work with the ways to the two services.
    pub fn new(geo: G, rate: R) -> Self {
        Self { geo, rate }
    }
}

impl<G: Next<Geo>, R: Next<Rate>> Work<Search> for Searched<G, R> {
    async fn work(&self, query: Query, times: &mut Times) -> Result<Hotels, Error> {
        let Query { latitude, longitude, from, until } = query;
        let near = times.call(&self.geo, Place { latitude, longitude }).await?;
        let mut plans = times.call(&self.rate, Stay { hotels: near.hotels, from, until }).await?.plans;
        // The sort is stable: of two hotels with one price the nearer comes first.
        plans.sort_by_key(|plan| plan.cents_a_night);
        let hotels = plans.into_iter().map(|plan| plan.hotel).collect();
        Ok(Hotels { hotels, ..Hotels::default() })
    }
}
