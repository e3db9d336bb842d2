use super::*;
use crate::described::{field, message, of_message, repeated, schema, with_choice, with_optional};
use prost_types::field_descriptor_proto::Type;
use std::mem::offset_of;

/// What a program has in memory for the message below.
#[repr(C)]
#[allow(dead_code, reason = "its layout alone is used")]
struct Request {
    present: [u64; 1],
    choice: u32,
    is_new: bool,
    count: u32,
    name: [u64; 2],
    flag: bool,
    part: u64,
    weight: f64,
    left: u32,
    right: u64,
    marks: [u64; 2],
}

#[test]
fn a_structure_is_one_of_c() {
    let request = message(
        "Request",
        vec![
            field(1, "is_new", Type::Bool),
            field(2, "count", Type::Fixed32),
            field(3, "name", Type::String),
            field(4, "flag", Type::Bool),
            of_message(5, "part", "Part"),
            repeated(field(9, "marks", Type::Bool)),
        ],
    );
    let request = with_choice(request, vec![field(7, "left", Type::Enum), of_message(8, "right", "Part")]);
    let request = with_optional(request, field(6, "weight", Type::Double));
    let plan = Plan::new(&schema(vec![request, message("Part", vec![])]));
    let id = plan.message("test.Request").unwrap();
    assert_eq!(plan.size(id), size_of::<Request>());
    let places = [
        (1, offset_of!(Request, is_new)),
        (2, offset_of!(Request, count)),
        (3, offset_of!(Request, name)),
        (4, offset_of!(Request, flag)),
        (5, offset_of!(Request, part)),
        (6, offset_of!(Request, weight)),
        (7, offset_of!(Request, left)),
        (8, offset_of!(Request, right)),
        (9, offset_of!(Request, marks)),
    ];
    for (number, place) in places {
        assert_eq!(plan.field(id, number), Some(place), "field {number}");
    }
    assert_eq!(plan.told(id, 6), Some(Told::Bit(0)));
    assert_eq!(plan.told(id, 7), Some(Told::Choice(offset_of!(Request, choice) as u32)));
    assert_eq!(offset_of!(Request, present), 0);
    assert_eq!(plan.size(plan.message("test.Part").unwrap()), 8);
    assert_eq!((plan.message("test.Colour"), plan.field(id, 10), plan.told(id, 10)), (None, None, None));
}
