//! Hotels that do not exist, made of a seed: every service that is given the seed knows the same.

use super::messages::{Description, Place, Plan};

/// Number of hotels.
pub const HOTELS: u64 = 80;

/// The middle of the city.
pub const CITY: Place = Place { latitude: 52.52, longitude: 13.40 };

/// Distance in millionths of a degree from the middle within which hotels lie.
const SPREAD: u64 = 150_000;

/// The seasons, in each of which a hotel has one plan.
const SEASONS: [(&str, &str); 2] = [("2026-01-01", "2026-06-30"), ("2026-07-01", "2026-12-31")];

/// Random numbers of a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self(
            seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(stream.wrapping_mul(0xa076_1d64_78bd_642f)),
        )
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    /// Returns a place in the city.
    pub(super) fn place(&mut self) -> Place {
        // A whole number of millionths is the same after a way through JSON.
        let mut near = |middle: f64| {
            let millionths = (middle * 1e6).round() + self.below(2 * SPREAD + 1) as f64 - SPREAD as f64;
            millionths / 1e6
        };
        Place { latitude: near(CITY.latitude), longitude: near(CITY.longitude) }
    }
}

/// The hotels of a seed.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    seed: u64,
}

impl Data {
    /// Creates the hotels of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the name of each hotel in requests, and its place.
    pub fn places(self) -> Vec<(String, Place)> {
        (0..HOTELS).map(|number| (format!("h{number}"), self.random(number).place())).collect()
    }

    /// Returns the plans of a hotel, or `None` if there is no such hotel.
    pub fn plans(self, hotel: &str) -> Option<Vec<Plan>> {
        let mut random = self.random(number(hotel)? + HOTELS);
        let room = random.of(&["single room", "double room", "room for a family", "suite"]);
        let plans = SEASONS.iter().enumerate().map(|(season, (from, until))| Plan {
            hotel: hotel.into(),
            code: format!("S{season}"),
            room: room.into(),
            description: format!(
                "A {room} with {}",
                random.of(&["a bath", "a balcony", "a desk", "a stove"])
            ),
            from: (*from).into(),
            until: (*until).into(),
            cents_a_night: 4_900 + 50 * random.below(400),
        });
        Some(plans.collect())
    }

    /// Returns the description of a hotel, or `None` if there is no such hotel.
    pub fn description(self, hotel: &str) -> Option<Description> {
        let number = number(hotel)?;
        // The place is the first that its numbers tell, as in `places`.
        let mut random = self.random(number);
        let Place { latitude, longitude } = random.place();
        let name = format!(
            "{} {}",
            random.of(&["Golden", "Quiet", "Old", "Grand", "Little", "Blue"]),
            random.of(&["Lion", "Post", "Mill", "Bridge", "Garden", "Station"])
        );
        let text = format!("{name} has {} rooms, {}.", 10 + random.below(190), random.of(&SIGHTS));
        let pictures = (0..3).map(|at| format!("https://pictures.example/{hotel}/{at}.jpg")).collect();
        Some(Description {
            hotel: hotel.into(),
            phone: format!("+49 30 {:07}", random.below(10_000_000)),
            street: format!("{} Street {}", random.of(&["North", "River", "Market"]), 1 + random.below(120)),
            city: "Berlin".into(),
            name,
            text,
            latitude,
            longitude,
            pictures,
        })
    }

    fn random(self, stream: u64) -> Random {
        Random::new(self.seed, stream)
    }
}

const SIGHTS: [&str; 3] =
    ["a view of the river", "breakfast until noon and a bar", "a garden, and a museum beside it"];

/// Returns the number of a hotel that exists.
fn number(hotel: &str) -> Option<u64> {
    let digits = hotel.strip_prefix('h')?;
    let number = digits.parse().ok().filter(|&number: &u64| number < HOTELS)?;
    // `h07` and `h+7` are no names.
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_hotels_and_another_makes_others() {
        let all = |seed| {
            let data = Data::new(seed);
            let of = |hotel: &str| (data.plans(hotel).unwrap(), data.description(hotel).unwrap());
            let places = data.places();
            places.iter().map(|(hotel, place)| (place.clone(), of(hotel))).collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        for (place, (plans, description)) in all(1) {
            assert_eq!((place.latitude, place.longitude), (description.latitude, description.longitude));
            assert_eq!(plans.len(), 2);
        }
    }

    #[test]
    fn a_description_is_the_same_after_a_way_through_the_cache() {
        for (hotel, _) in Data::new(1).places() {
            let description = Data::new(1).description(&hotel).unwrap();
            let json = serde_json::to_vec(&description).unwrap();
            assert_eq!(serde_json::from_slice::<Description>(&json).unwrap(), description);
        }
    }

    #[test]
    fn other_names_are_of_no_hotel() {
        for name in ["", "h", "h80", "7", "h07", "h+7", "h 7"] {
            assert!(Data::new(1).plans(name).is_none() && Data::new(1).description(name).is_none(), "{name}");
        }
    }
}
