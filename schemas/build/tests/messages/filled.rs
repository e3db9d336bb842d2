//! Messages of random values arrive as they were sent, also by way of another implementation of protobuf.

use crate::ends::{Choices, Ends, judge};
use crate::hotel::booking::stay::Board;
use crate::hotel::booking::{BoardsEntry, Stay};
use crate::hotel::nearby_response::FurtherEntry;
use crate::hotel::place::Point;
use crate::hotel::{Booking, Hotel, Kind, NearbyRequest, NearbyResponse};
use bertha_managed::heap::{Box, Heap, String, Vec};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt;

fn point(choices: &mut Choices<'_>, heap: &Heap) -> Point {
    let mut point = Point::new_in(heap);
    point.set_latitude(choices.word() as f64);
    point.set_longitude(0.125 - choices.below(3) as f64 / 4.0);
    point.set_self(choices.word() as u32);
    point
}

fn request(choices: &mut Choices<'_>, heap: &Heap) -> NearbyRequest {
    let mut request = NearbyRequest::new_in(heap);
    *request.around_mut() = (choices.below(2) == 1).then(|| Box::new_in(point(choices, heap), heap));
    request.set_nights(choices.word() as i32);
    match choices.below(4) {
        0 => request.set_most(choices.word()),
        1 => request.set_is_quiet(choices.below(2) == 1),
        2 => request.chain_mut().push_str(&choices.text()),
        _ => {}
    }
    request.kinds_mut().extend((0..choices.below(4)).map(|kind| Kind(kind as i32 - 2)));
    let words = (0..choices.below(4)).map(|_| String::from_str_in(&choices.text(), heap));
    request.words_mut().extend(words);
    request
}

fn hotel(choices: &mut Choices<'_>, depth: usize, heap: &Heap) -> Hotel {
    let mut hotel = Hotel::new_in(heap);
    hotel.name_mut().push_str(&choices.text());
    hotel.set_kind(Kind(choices.word() as i32));
    hotel.set_rating(choices.word() as f64);
    hotel.set_open(choices.below(2) == 1);
    hotel.type_mut().extend_from_slice(&choices.word().to_le_bytes()[..choices.below(9)]);
    hotel.prices_mut().extend((0..choices.below(5)).map(|price| price as f32));
    hotel.flags_mut().extend((0..choices.below(5)).map(|place| place % 2 == 1));
    for _ in 0..choices.below(3) {
        let mut picture = Vec::new_in(heap);
        picture.extend_from_slice(choices.text().as_bytes());
        hotel.pictures_mut().push(picture);
    }
    if depth > 0 {
        let annexes = (0..choices.below(3)).map(|_| self::hotel(choices, depth - 1, heap));
        hotel.annexes_mut().extend(annexes);
        if choices.below(2) == 1 {
            *hotel.owner_mut() = Some(Box::new_in(self::hotel(choices, depth - 1, heap), heap));
        }
    }
    hotel
}

/// Returns a response with at most one entry in its map, since maps have no order.
fn response(choices: &mut Choices<'_>, heap: &Heap) -> NearbyResponse {
    let mut response = NearbyResponse::new_in(heap);
    response.hotels_mut().extend((0..choices.below(4)).map(|_| hotel(choices, 2, heap)));
    if choices.below(2) == 1 {
        let mut entry = FurtherEntry::new_in(heap);
        entry.key_mut().push_str(&choices.text());
        *entry.value_mut() = Some(Box::new_in(request(choices, heap), heap));
        response.further_mut().push(entry);
    }
    response
}

fn stay(choices: &mut Choices<'_>, heap: &Heap) -> Stay {
    let mut stay = Stay::new_in(heap);
    *stay.hotel_mut() = (choices.below(2) == 1).then(|| Box::new_in(hotel(choices, 1, heap), heap));
    stay.rooms_mut().extend((0..choices.below(5)).map(|_| choices.word() as i32));
    match choices.below(4) {
        0 => stay.set_board(Board(choices.below(5) as i32)),
        1 => stay.set_discount(choices.below(8) as f32),
        2 => stay.set_fee(choices.word() as i64),
        _ => {}
    }
    stay
}

fn booking(choices: &mut Choices<'_>, heap: &Heap) -> Booking {
    let mut booking = Booking::new_in(heap);
    booking.set_number(choices.word() as i64);
    for _ in 0..choices.below(4) {
        match choices.below(6) {
            0 => booking.set_arrival(choices.word() as u32),
            1 => booking.refusal_mut().push_str(&choices.text()),
            2 => booking.token_mut().push(choices.below(256) as u8),
            3 => booking.set_stay(Box::new_in(stay(choices, heap), heap)),
            4 => booking.set_board(Board(choices.below(5) as i32)),
            _ => booking.clear_state(),
        }
    }
    if choices.below(2) == 1 {
        let mut entry = BoardsEntry::new_in(heap);
        entry.set_key(choices.word() as i32);
        entry.set_value(Board(choices.below(5) as i32));
        booking.boards_mut().push(entry);
    }
    if choices.below(2) == 1 {
        booking.note_mut().extend_from_slice(choices.text().as_bytes());
        *booking.earlier_mut() = Some(Box::new_in(stay(choices, heap), heap));
    }
    booking
}

/// Sends a message, and compares what arrives of it.
fn check<T: fmt::Debug>(ends: &Ends, name: &str, message: T) -> Result<(), TestCaseError> {
    let shown = format!("{message:?}");
    let judged = judge(name, &ends.send(name, message));
    let arrived = ends.receive(name, &judged, |message: &T| format!("{message:?}"));
    prop_assert_eq!(arrived, shown);
    Ok(())
}

proptest! {
    #[test]
    fn messages_arrive_as_they_were_sent(bytes in vec(any::<u8>(), 0..400)) {
        let (ends, mut choices) = (Ends::new(), Choices(bytes.iter()));
        check(&ends, "hotel.NearbyRequest", request(&mut choices, &ends.heap))?;
        check(&ends, "hotel.Booking", booking(&mut choices, &ends.heap))?;
        check(&ends, "hotel.NearbyResponse", response(&mut choices, &ends.heap))?;
    }
}
