//! The work of profile.

use super::cached::facts;
use crate::hotel::messages::{Descriptions, Names};
use crate::hotel::services::{Profile, Work};
use crate::hotel::times::Times;
use crate::hotel::{Data, Memcached};
use bertha_core::{Error, ErrorKind};

/// Describes hotels, with a cache of descriptions.
#[derive(Debug)]
pub struct Described {
    data: Data,
    cache: Option<Memcached>,
}

impl Described {
    /// Creates the work with the descriptions of some hotels.
    pub fn new(data: Data, cache: Option<Memcached>) -> Self {
        Self { data, cache }
    }
}

impl Work<Profile> for Described {
    async fn work(&self, names: Names, _: &mut Times) -> Result<Descriptions, Error> {
        if names.language != "en" {
            return Err(Error::new(ErrorKind::Invalid, "descriptions are in English: en"));
        }
        let cache = self.cache.as_ref();
        let hotels = facts(cache, "profile", &names.hotels, |hotel| self.data.description(hotel)).await;
        Ok(Descriptions { hotels, ..Descriptions::default() })
    }
}
