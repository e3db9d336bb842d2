//! Structures of generated types are filled and sent as protobuf, and arrive in a heap that is lent.

#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

/// The types of the package `hotel`.
pub mod hotel {
    include!("../generated/hotel.rs");

    /// The types of the package `hotel.place`.
    pub mod place {
        include!("../generated/hotel.place.rs");
    }
}

/// The types of a file without a package, whose names hide others.
pub mod odd {
    include!("../generated/_.rs");
}

mod ends;
mod filled;

use bertha_managed::Method;
use bertha_managed::heap::{Box, String};
use bertha_schemas::Schema;
use ends::{Ends, judge};
use hotel::booking::stay::{Board, Extra};
use hotel::booking::{State, Stay};
use hotel::place::Point;
use hotel::{Booking, Hotel, Kind, NearbyRequest, NearbyResponse, health, hotels};
use prost_reflect::{MapKey, Value};

const NEARBY: &str = "hotel.NearbyRequest";

#[test]
fn fields_of_all_kinds_are_sent() {
    let ends = Ends::new();
    let mut request = NearbyRequest::new_in(&ends.heap);
    let mut around = Point::new_in(&ends.heap);
    around.set_latitude(52.5);
    around.set_self(90);
    *request.around_mut() = Some(Box::new_in(around, &ends.heap));
    request.set_nights(-3);
    request.set_most(0);
    request.chain_mut().push_str("Gäste");
    request.set_is_quiet(true);
    request.clear_is_quiet();
    request.kinds_mut().extend([Kind::FAMILY, Kind(9), Kind::HOSTEL]);
    request.words_mut().extend(["", "pool"].map(|word| String::from_str_in(word, &ends.heap)));

    let sent = judge(NEARBY, &ends.send(NEARBY, request));
    let field = |name: &str| sent.get_field_by_name(name).unwrap().into_owned();
    let around = field("around").as_message().unwrap().clone();
    assert_eq!(*around.get_field_by_name("latitude").unwrap(), Value::F64(52.5));
    assert_eq!(*around.get_field_by_name("self").unwrap(), Value::U32(90));
    assert_eq!((field("nights"), field("chain")), (Value::I32(-3), Value::String("Gäste".into())));
    assert!(sent.has_field_by_name("most") && !sent.has_field_by_name("is_quiet"));
    let kinds = [1, 9, -2].map(Value::EnumNumber);
    assert_eq!(field("kinds"), Value::List(kinds.into()));
    assert_eq!(field("words"), Value::List(["", "pool"].map(|word| Value::String(word.into())).into()));
}

#[test]
fn the_chosen_field_alone_is_sent() {
    let ends = Ends::new();
    let booking = |choose: &dyn Fn(&mut Booking)| {
        let mut booking = Booking::new_in(&ends.heap);
        booking.refusal_mut().push_str("full");
        booking.set_stay(Box::new_in(Stay::new_in(&ends.heap), &ends.heap));
        choose(&mut booking);
        ends.send("hotel.Booking", booking)
    };
    assert_eq!(booking(&|booking| booking.set_arrival(0)), b"\x18\0");
    assert_eq!(booking(&|booking| booking.refusal_mut().clear()), b"\x12\0");
    assert_eq!(booking(&|booking| booking.token_mut().push(7)), b"\x2a\x01\x07");
    assert_eq!(booking(&|booking| booking.set_board(Board::ALL)), b"\x48\x03");
    assert_eq!(booking(&|booking| booking.stay_mut().unwrap().set_fee(1)), b"\x22\x02\x28\x01");
    assert_eq!(booking(&|booking| booking.clear_state()), b"");
}

#[test]
fn fields_of_all_kinds_arrive() {
    let mut entry = judge("hotel.Booking.BoardsEntry", b"");
    entry.set_field_by_name("key", Value::I32(4));
    let mut hotel = judge("hotel.Hotel", b"");
    hotel.set_field_by_name("type", Value::Bytes(vec![1, 2].into()));
    let mut stay = judge("hotel.Booking.Stay", b"");
    stay.set_field_by_name("hotel", Value::Message(hotel));
    stay.set_field_by_name("rooms", Value::List(vec![Value::I32(-1), Value::I32(12)]));
    stay.set_field_by_name("discount", Value::F32(0.5));
    let mut booking = judge("hotel.Booking", b"");
    booking.set_field_by_name("number", Value::I64(i64::MIN));
    booking.set_field_by_name("stay", Value::Message(stay));
    let boards = [(MapKey::I32(4), Value::EnumNumber(3))].into_iter().collect();
    booking.set_field_by_name("boards", Value::Map(boards));

    Ends::new().receive("hotel.Booking", &booking, |booking: &Booking| {
        assert_eq!((booking.number(), booking.note(), booking.earlier().is_none()), (i64::MIN, None, true));
        let Some(State::Stay(stay)) = booking.state() else { panic!("{booking:?}") };
        assert_eq!((stay.rooms(), stay.board()), (&[-1, 12][..], None));
        assert!(matches!(stay.extra(), Some(Extra::Discount(0.5))));
        let hotel = stay.hotel().unwrap();
        assert_eq!((hotel.r#type(), hotel.name(), hotel.kind()), (&[1, 2][..], "", Kind::UNKNOWN));
        assert!(hotel.annexes().is_empty() && hotel.owner().is_none() && hotel.pictures().is_empty());
        let [board] = booking.boards() else { panic!("{booking:?}") };
        assert_eq!((board.key(), board.value()), (4, Board::ALL));
    });
}

#[test]
fn a_text_that_is_present_again_is_empty() {
    let ends = Ends::new();
    let mut request = NearbyRequest::new_in(&ends.heap);
    assert_eq!((request.chain(), request.most()), (None, None));
    request.chain_mut().push_str("a");
    request.chain_mut().push_str("b");
    assert_eq!(request.chain(), Some("ab"));
    request.clear_chain();
    assert_eq!(request.chain(), None);
    assert!(request.chain_mut().is_empty());
    let mut booking = Booking::new_in(&ends.heap);
    booking.refusal_mut().push_str("full");
    booking.set_arrival(7);
    assert!(matches!(booking.state(), Some(State::Arrival(7))));
    assert!(booking.stay_mut().is_none() && booking.refusal_mut().is_empty());
}

#[test]
fn messages_are_shown_by_their_fields() {
    let ends = Ends::new();
    let mut hotel = Hotel::new_in(&ends.heap);
    hotel.set_kind(Kind::FAMILY);
    hotel.type_mut().push(3);
    let shown = "Hotel { name: \"\", kind: KIND_FAMILY, rating: 0.0, open: false, annexes: [], owner: None, prices: [], flags: [], \
                 type: [3], pictures: [] }";
    assert_eq!(format!("{hotel:?}"), shown);
    let mut stay = Stay::new_in(&ends.heap);
    stay.set_board(Board(2));
    assert_eq!(format!("{stay:?}"), "Stay { hotel: None, rooms: [], board: Some(Board(2)), extra: None }");
    assert_eq!((Kind::PARENTS.name(), Kind(5).name()), (Some("KIND_FAMILY"), None));
}

#[test]
fn bits_fill_words() {
    let ends = Ends::new();
    let mut heap = odd::Heap::new_in(&ends.heap);
    heap.set_b0(true);
    heap.set_b64(false);
    heap.set_self(Box::new_in(odd::Heap::new_in(&ends.heap), &ends.heap));
    assert_eq!((heap.b0(), heap.b1(), heap.b63(), heap.b64()), (Some(true), None, None, Some(false)));
    heap.clear_b64();
    assert_eq!((heap.b0(), heap.b64()), (Some(true), None));
    assert!(matches!(heap.r#box(), Some(odd::heap_::Box::Self_(_))));
}

#[test]
fn methods_have_the_numbers_of_the_schema() {
    fn check<M: Method>(descriptors: &[u8], methods: usize) -> &'static str {
        let schema = Schema::read(descriptors).unwrap();
        let method = &schema.methods()[M::NUMBER as usize];
        assert_eq!(
            (method.service.as_str(), method.name.as_str()),
            (<M::Service as bertha_managed::Service>::NAME, M::NAME)
        );
        assert_eq!(schema.methods().len(), methods, "other services do not count");
        std::any::type_name::<(M::Request, M::Response)>()
    }
    let nearby = std::any::type_name::<(NearbyRequest, NearbyResponse)>();
    assert_eq!(check::<hotels::Nearby>(hotels::DESCRIPTORS, 2), nearby);
    check::<hotels::Book>(hotels::DESCRIPTORS, 2);
    check::<health::Check>(health::DESCRIPTORS, 1);
    check::<odd::super_::Option_>(odd::super_::DESCRIPTORS, 2);
}
