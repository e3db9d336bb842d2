//! The work of geo.

use crate::hotel::Data;
use crate::hotel::messages::{Hotels, Place};
use crate::hotel::services::{Geo, Work};
use crate::hotel::times::Times;
use bertha_core::{Error, ErrorKind};

/// Number of hotels in an answer.
const MOST: usize = 5;

/// Greatest distance of a hotel, in kilometres.
const FARTHEST: f64 = 10.0;

/// Kilometres of a degree to the north.
const DEGREE: f64 = 111.2;

/// Finds the nearest hotels.
#[derive(Debug)]
pub struct Nearest(Vec<(String, Place)>);

impl Nearest {
    /// Creates the work with the places of some hotels.
    pub fn new(data: Data) -> Self {
        Self(data.places())
    }
}

impl Work<Geo> for Nearest {
    async fn work(&self, place: Place, _: &mut Times) -> Result<Hotels, Error> {
        let is_there = place.latitude.abs() <= 90.0 && place.longitude.abs() <= 180.0;
        if !is_there {
            return Err(Error::new(ErrorKind::Invalid, "the place is not on earth"));
        }
        let near = self.0.iter().map(|(hotel, at)| (distance(&place, at), hotel));
        let mut near: Vec<_> = near.filter(|(distance, _)| *distance <= FARTHEST).collect();
        near.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let hotels = near.into_iter().take(MOST).map(|(_, hotel)| hotel.clone()).collect();
        Ok(Hotels { hotels, ..Hotels::default() })
    }
}

/// Returns the kilometres between two places of a city, on a plane.
fn distance(a: &Place, b: &Place) -> f64 {
    let east = (a.longitude - b.longitude) * a.latitude.to_radians().cos();
    DEGREE * (a.latitude - b.latitude).hypot(east)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn near(place: Place) -> Result<Vec<String>, Error> {
        let work = Nearest::new(Data::new(1));
        Ok(work.work(place, &mut Times::begin()).await?.hotels)
    }

    #[tokio::test]
    async fn the_nearest_hotels_come_first_and_none_is_far() {
        let (hotel, place) = Data::new(1).places().swap_remove(17);
        let found = near(place.clone()).await.unwrap();
        assert_eq!((found.len(), &found[0]), (MOST, &hotel));
        assert_eq!(near(Place { latitude: -place.latitude, ..place }).await.unwrap(), [""; 0]);
    }

    #[tokio::test]
    async fn a_place_that_is_nowhere_is_refused() {
        for latitude in [90.1, f64::NAN, f64::INFINITY] {
            assert!(near(Place { latitude, longitude: 0.0 }).await.is_err());
        }
    }
}
