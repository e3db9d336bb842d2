//! The work of the front end.

use crate::hotel::messages::{Call, Description, Names, Query};
use crate::hotel::services::{Next, Profile, Search};
use crate::hotel::times::Times;
use bertha_core::Error;

/// Asks for hotels, and then for their descriptions.
#[derive(Debug)]
pub struct Front<S, P> {
    search: S,
    profile: P,
}

/// The hotels that were found, and the times of all services.
#[derive(Debug, Clone)]
pub struct Found {
    /// The hotels, cheapest first.
    pub hotels: Vec<Description>,
    /// The calls for this request; the first is the request itself, at the front end.
    pub calls: Vec<Call>,
}

impl<S: Next<Search>, P: Next<Profile>> Front<S, P> {
    /// Creates the work with the ways to the two services.
    pub fn new(search: S, profile: P) -> Self {
        Self { search, profile }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// Errors of the services.
    pub async fn find(&self, query: Query) -> Result<Found, Error> {
        let mut times = Times::begin();
        let hotels = times.call(&self.search, query).await?.hotels;
        let names = Names { hotels, language: "en".into() };
        let hotels = times.call(&self.profile, names).await?.hotels;
        let took_ns = times.elapsed().as_nanos() as u64;
        let (worked_ns, others) = times.end();
        let mut calls = vec![Call { service: "front".into(), took_ns, worked_ns }];
        calls.extend(others);
        Ok(Found { hotels, calls })
    }
}
