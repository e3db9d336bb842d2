use super::*;
use crate::described::{field, message, of_message, repeated, schema};
use prost_types::field_descriptor_proto::Type as Described;

/// Returns the type of this shape, which is told from others by `T`.
macro_rules! of {
    ($shape:expr) => {{
        struct Told;
        Type::of::<Told>(|| $shape)
    }};
}

const PART: Type = Type::of::<u8>(|| Shape::Structure(8, &[]));

/// Returns the type of a structure with these parts, of which none has a name.
macro_rules! structure {
    ($size:literal $(, $at:literal: $shape:expr)*) => {
        of!(Shape::Structure($size, const { &[$(Part { name: "part", at: $at, of: of!($shape) }),*] }))
    };
}

fn plan() -> Plan {
    let whole = message(
        "Whole",
        vec![
            field(1, "text", Described::String),
            field(2, "bytes", Described::Bytes),
            field(3, "flag", Described::Bool),
            field(4, "count", Described::Int32),
            of_message(5, "next", "Whole"),
            of_message(6, "part", "Part"),
            repeated(field(7, "flags", Described::Bool)),
            repeated(field(8, "texts", Described::String)),
            repeated(of_message(9, "parts", "Part")),
            repeated(field(10, "rows", Described::Bytes)),
        ],
    );
    Plan::new(&schema(vec![whole, message("Part", vec![])]))
}

fn check(of: Type) -> Result<(), Misfit> {
    let plan = plan();
    plan.check(plan.message("test.Whole").unwrap(), of)
}

/// The type that the plan describes.
fn whole() -> Shape {
    const BYTES: Type = of!(Shape::Row(of!(Shape::Numbers(1))));
    const PARTS: &[Part] = &[
        Part { name: "text", at: 0, of: of!(Shape::Text) },
        Part { name: "bytes", at: 16, of: BYTES },
        Part { name: "flag", at: 32, of: of!(Shape::Bool) },
        Part { name: "_padding", at: 33, of: of!(Shape::Numbers(3)) },
        Part { name: "count", at: 36, of: of!(Shape::Numbers(4)) },
        Part { name: "next", at: 40, of: of!(Shape::Address(Type::of::<u16>(whole))) },
        Part { name: "part", at: 48, of: of!(Shape::Address(PART)) },
        Part { name: "flags", at: 56, of: of!(Shape::Row(of!(Shape::Bool))) },
        Part { name: "texts", at: 72, of: of!(Shape::Row(of!(Shape::Text))) },
        Part { name: "parts", at: 88, of: of!(Shape::Row(PART)) },
        Part { name: "rows", at: 104, of: of!(Shape::Row(BYTES)) },
    ];
    Shape::Structure(120, PARTS)
}

#[test]
fn a_type_that_is_as_the_plan_says_suits_also_if_it_refers_to_itself() {
    assert_eq!(check(Type::of::<u16>(whole)), Ok(()));
}

#[test]
fn numbers_suit_in_the_place_of_anything_of_their_size() {
    assert_eq!(
        check(structure!(120, 0: Shape::Numbers(16), 72: Shape::Row(of!(Shape::Numbers(16))))),
        Ok(())
    );
    assert_eq!(check(structure!(120, 88: Shape::Row(of!(Shape::Numbers(8))))), Ok(()));
    assert!(check(structure!(120, 72: Shape::Row(of!(Shape::Numbers(8))))).is_err());
    assert!(check(structure!(120, 56: Shape::Row(of!(Shape::Numbers(4))))).is_err());
}

#[test]
fn what_the_plan_has_not_is_refused_with_the_name_of_the_part() {
    assert_eq!(check(of!(Shape::Text)), Err(Misfit { part: None }));
    assert_eq!(check(structure!(112)), Err(Misfit { part: None }));
    let wrong = [
        structure!(120, 8: Shape::Text),
        structure!(120, 16: Shape::Text),
        structure!(120, 36: Shape::Bool),
        structure!(120, 36: Shape::Text),
        structure!(120, 33: Shape::Bool),
        structure!(120, 0: Shape::Row(of!(Shape::Numbers(1)))),
        structure!(120, 16: Shape::Row(of!(Shape::Bool))),
        structure!(120, 16: Shape::Row(of!(Shape::Numbers(4)))),
        structure!(120, 48: Shape::Row(PART)),
        structure!(120, 48: Shape::Structure(8, &[])),
        structure!(120, 56: Shape::Bool),
        structure!(120, 56: Shape::Row(of!(Shape::Text))),
        structure!(120, 72: Shape::Text),
        structure!(120, 72: Shape::Row(of!(Shape::Row(of!(Shape::Numbers(1)))))),
        structure!(120, 88: Shape::Address(PART)),
        structure!(120, 88: Shape::Row(of!(Shape::Address(PART)))),
        structure!(120, 104: Shape::Row(of!(Shape::Text))),
    ];
    for (place, of) in wrong.into_iter().enumerate() {
        assert_eq!(check(of), Err(Misfit { part: Some("part") }), "{place}");
    }
}

#[test]
fn types_that_others_refer_to_are_checked_too() {
    const LARGE: Type = Type::of::<u32>(|| Shape::Structure(16, &[]));
    assert_eq!(check(structure!(120, 48: Shape::Address(LARGE))), Err(Misfit { part: None }));
    assert_eq!(check(structure!(120, 88: Shape::Row(LARGE))), Err(Misfit { part: None }));
    assert_eq!(check(structure!(120, 40: Shape::Address(PART))), Err(Misfit { part: None }));
}
