use super::*;
use crate::described::{field, file, message, of_message, repeated, schema, set, with_choice, with_optional};
use prost_types::descriptor_proto::ReservedRange;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto, OneofDescriptorProto};

fn refusal(messages: Vec<DescriptorProto>) -> Unsuitable {
    Schema::read(&set(file(messages))).unwrap_err()
}

/// A request with a field of every presence, and the message that it holds.
fn messages() -> Vec<DescriptorProto> {
    let request = message(
        "Request",
        vec![
            field(3, "name", Type::String),
            field(1, "colour", Type::Enum),
            repeated(field(4, "marks", Type::Sint64)),
            repeated(of_message(5, "parts", "Part")),
        ],
    );
    let request = with_choice(request, vec![field(7, "left", Type::Bytes), of_message(6, "right", "Part")]);
    let request = with_optional(request, field(8, "weight", Type::Double));
    vec![request, message("Part", vec![of_message(2, "whole", "Request")]), message("Unreached", vec![])]
}

#[test]
fn the_canonical_form_has_all_that_methods_reach_in_order() {
    let schema = schema(messages());
    let lines: Vec<_> = schema.lines().iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        [
            "enum test.Colour -0000000007 BLUE",
            "enum test.Colour 00000000000 NONE",
            "enum test.Colour 00000000001 RED",
            "field test.Part 000000002 whole .test.Request",
            "field test.Request 000000001 colour .test.Colour",
            "field test.Request 000000003 name string",
            "field test.Request 000000004 marks packed sint64",
            "field test.Request 000000005 parts repeated .test.Part",
            "field test.Request 000000006 right oneof choice_0 .test.Part",
            "field test.Request 000000007 left oneof choice_0 bytes",
            "field test.Request 000000008 weight optional double",
            "message test.Part",
            "message test.Request",
            "method test.Doer Do .test.Request returns .test.Request",
        ]
    );
    assert_eq!(schema.methods()[0].request, "test.Request");
}

#[test]
fn the_order_of_files_and_fields_changes_no_hash_and_everything_else_does() {
    let digest = |messages| schema(messages).digest();
    let mut turned = messages();
    turned[0].field.reverse();
    turned[1..].reverse();
    assert_eq!(digest(turned), digest(messages()));
    let changes: [fn(&mut FieldDescriptorProto); 4] = [
        |field| field.name = Some("other".into()),
        |field| field.number = Some(9),
        |field| field.r#type = Some(Type::Bytes as i32),
        |field| field.label = Some(Label::Repeated as i32),
    ];
    for change in changes {
        let mut changed = messages();
        change(&mut changed[0].field[0]);
        assert_ne!(digest(changed), digest(messages()));
    }
}

#[test]
fn a_difference_names_the_first_line_that_differs() {
    let here = schema(messages());
    assert_eq!(here.difference(here.lines()), None);
    let mut changed = messages();
    changed[0].field[0].r#type = Some(Type::Bytes as i32);
    let there = schema(changed);
    assert_eq!(
        here.difference(there.lines()).unwrap().to_string(),
        "here `field test.Request 000000003 name string`, there `field test.Request 000000003 name bytes`"
    );
    let mut fewer = messages();
    fewer[0].field.remove(0);
    let there = schema(fewer);
    let expected = "`field test.Request 000000003 name string` is";
    assert_eq!(here.difference(there.lines()).unwrap().to_string(), format!("{expected} here alone"));
    assert_eq!(there.difference(here.lines()).unwrap().to_string(), format!("{expected} there alone"));
    assert!(here.difference::<&str>(&[]).unwrap().here.is_some());
}

#[test]
fn a_set_that_is_none_is_refused_by_its_fault() {
    assert!(matches!(Schema::read(&[0xff; 9]), Err(Unsuitable::Malformed(_))));
    assert_eq!(Schema::read(&vec![0; Schema::LONGEST + 1]), Err(Unsuitable::Long(Schema::LONGEST + 1)));
    assert_eq!(Schema::read(&[]), Err(Unsuitable::Empty));
    let mut old = file(vec![message("A", vec![])]);
    old.syntax = None;
    assert_eq!(Schema::read(&set(old)), Err(Unsuitable::NotProto3("test.A".into())));
}

#[test]
fn a_field_that_no_compiler_writes_is_refused_by_name() {
    let of = |field| refusal(vec![message("A", vec![field])]);
    for number in [0, -1, 1 << 29, 19_000, 19_999] {
        let refused = of(field(number, "a", Type::Bool));
        assert_eq!(refused, Unsuitable::Number { field: "test.A.a".into(), number });
    }
    assert_eq!(of(field(1, "a", Type::Group)), Unsuitable::NotProto3("test.A.a".into()));
    let required = FieldDescriptorProto { label: Some(Label::Required as i32), ..field(1, "a", Type::Bool) };
    assert_eq!(of(required), Unsuitable::NotProto3("test.A.a".into()));
    let missing = Unsuitable::Missing { name: "test.B".into(), by: "test.A.a".into() };
    assert_eq!(of(of_message(1, "a", "B")), missing);
    for name in ["", "a b", "a\nb", "ä", "1"] {
        assert!(matches!(of(field(1, name, Type::Bool)), Unsuitable::Incomplete(_)), "{name}");
    }
    assert!(matches!(of(field(1, &"a".repeat(256), Type::Bool)), Unsuitable::Name(_)));
    let strange = FieldDescriptorProto { oneof_index: Some(3), ..field(1, "a", Type::Bool) };
    assert_eq!(of(strange), Unsuitable::Incomplete("`test.A.a`".into()));
    let reserved = DescriptorProto {
        reserved_range: vec![ReservedRange { start: Some(3), end: Some(5) }],
        ..message("A", vec![field(4, "a", Type::Bool)])
    };
    assert_eq!(refusal(vec![reserved]), Unsuitable::Number { field: "test.A.a".into(), number: 4 });
    let extension = FieldDescriptorProto { extendee: Some(".test.B".into()), ..field(1, "a", Type::Bool) };
    assert_eq!(of(extension), Unsuitable::NotProto3("test.A.a".into()));
    let long = of(of_message(1, "a", &"\u{1}".repeat(1_000_000))).to_string();
    assert!(long.len() < 2_000, "{}", long.len());
}

#[test]
fn an_optional_field_has_a_choice_of_its_own() {
    let optional = |choice| FieldDescriptorProto {
        oneof_index: choice,
        proto3_optional: Some(true),
        ..field(1, "a", Type::Bool)
    };
    for choice in [None, Some(-1), Some(0), Some(77)] {
        let refused = refusal(vec![message("A", vec![optional(choice)])]);
        assert_eq!(refused, Unsuitable::Incomplete("`test.A.a`".into()), "{choice:?}");
    }
    let shared = with_choice(message("A", vec![]), vec![optional(None), field(2, "b", Type::Bool)]);
    assert_eq!(refusal(vec![shared]), Unsuitable::Incomplete("`test.A.a`".into()));
    schema(vec![with_optional(message("A", vec![]), field(1, "a", Type::Bool))]);
}

#[test]
fn an_enumeration_begins_with_zero_and_has_each_name_once() {
    let of = |values: &[(&str, i32)]| {
        let mut described = file(vec![message("A", vec![field(1, "colour", Type::Enum)])]);
        let value = |(name, number): &(&str, i32)| EnumValueDescriptorProto {
            name: Some((*name).into()),
            number: Some(*number),
            ..Default::default()
        };
        described.enum_type[0].value = values.iter().map(value).collect();
        Schema::read(&set(described))
    };
    assert_eq!(of(&[]), Err(Unsuitable::Incomplete("`test.Colour`".into())));
    assert_eq!(of(&[("A", 5)]), Err(Unsuitable::NotProto3("test.Colour".into())));
    assert_eq!(of(&[("A", 0), ("A", 1)]), Err(Unsuitable::Twice("test.Colour.A".into())));
    let (both, one) = (of(&[("A", 0), ("B", 0)]).unwrap(), of(&[("B", 0)]).unwrap());
    let difference = both.difference(one.lines()).unwrap();
    assert_eq!(difference.to_string(), "`enum test.Colour 00000000000 A` is here alone");
}

#[test]
fn a_type_with_the_name_of_a_number_is_another_type() {
    for (name, scalar) in [("string", Type::String), ("bytes", Type::Bytes), ("int64", Type::Int64)] {
        let of = |first: FieldDescriptorProto| {
            let messages = vec![message("A", vec![first, of_message(2, "b", name)]), message(name, vec![])];
            let mut described = file(messages);
            described.package = None;
            let named = |name: &str| Some(name.replace("test.", ""));
            for field in &mut described.message_type[0].field {
                field.type_name = field.type_name.as_deref().and_then(named);
            }
            for method in &mut described.service[0].method {
                (method.input_type, method.output_type) = (Some(".A".into()), Some(".A".into()));
            }
            Schema::read(&set(described)).unwrap()
        };
        let (number, own) = (of(field(1, "a", scalar)), of(of_message(1, "a", name)));
        assert_ne!(number.digest(), own.digest(), "{name}");
        let difference = number.difference(own.lines()).unwrap().to_string();
        assert_eq!(
            difference,
            format!("here `field A 000000001 a {name}`, there `field A 000000001 a .{name}`")
        );
    }
}

/// Two fields, each in the choice of an index, among choices of these names.
fn with_choices(names: &[&str], choices: [i32; 2]) -> Vec<DescriptorProto> {
    let choice = |name: &&str| OneofDescriptorProto { name: Some((*name).into()), ..Default::default() };
    let of = |number, name, choice| FieldDescriptorProto {
        oneof_index: Some(choice),
        ..field(number, name, Type::Uint64)
    };
    vec![DescriptorProto {
        oneof_decl: names.iter().map(choice).collect(),
        ..message("A", vec![of(1, "x", choices[0]), of(2, "y", choices[1])])
    }]
}

#[test]
fn schemas_with_equal_hashes_are_equal_whatever_the_order_of_choices() {
    let one = schema(with_choices(&["a", "b"], [0, 1]));
    let equal = [with_choices(&["b", "a"], [1, 0]), with_choices(&["none", "a", "b", "more"], [1, 2])];
    for other in equal {
        assert_eq!(schema(other), one);
    }
    let other = [with_choices(&["a"], [0, 0]), with_choices(&["a", "c"], [0, 1])];
    for other in other {
        assert_ne!(schema(other).digest(), one.digest());
    }
    let refused = |names, choices| refusal(with_choices(names, choices));
    assert_eq!(refused(&["a", "a"], [0, 1]), Unsuitable::Twice("test.A.a".into()));
    assert_eq!(refused(&["a", "y"], [0, 1]), Unsuitable::Twice("test.A.y".into()));
    let long = "a".repeat(256);
    assert!(matches!(refused(&[&long], [0, 0]), Unsuitable::Name(_)));
}

#[test]
fn parts_are_counted_before_they_take_memory() {
    let many = |part: &[u8]| Schema::read(&part.repeat(Schema::LONGEST / part.len()));
    assert_eq!(many(b"\x0a\x00"), Err(Unsuitable::Many));
    assert_eq!(many(b"\x0a\x02\x22\x00"), Err(Unsuitable::Many));
    assert_eq!(many(b"\x0a\x04\x22\x02\x12\x00"), Err(Unsuitable::Many));
    // Few parts of much text are for the decoder.
    assert_eq!(many(b"\x0a\x0c\x0a\x0aaaaaaaaaaa"), Err(Unsuitable::Many));
    let text = [b"\x0a\x83\x80\x10\x0a\xff\xff\x0f".as_slice(), &b"a".repeat(0x3_ffff)].concat();
    assert_eq!(Schema::read(&text), Err(Unsuitable::Empty));
}

#[test]
fn what_is_there_twice_is_refused_by_name() {
    let pair = |one, other| refusal(vec![message("A", vec![one, other])]);
    let (one, other) = (field(1, "a", Type::Bool), field(1, "b", Type::Bool));
    assert!(matches!(pair(one.clone(), other), Unsuitable::Number { number: 1, .. }));
    assert_eq!(pair(one, field(2, "a", Type::Bool)), Unsuitable::Twice("test.A.a".into()));
    let messages = vec![message("A", vec![]), message("A", vec![])];
    assert_eq!(refusal(messages), Unsuitable::Twice("test.A".into()));
    assert_eq!(refusal(vec![message("Colour", vec![])]), Unsuitable::Twice("test.Colour".into()));
}

#[test]
fn a_schema_beyond_its_bounds_is_refused() {
    let fields =
        (1..=Schema::FIELDS as i32 + 1).map(|number| field(number, &format!("f{number}"), Type::Bool));
    let mut fields: Vec<_> = fields.collect();
    assert_eq!(refusal(vec![message("A", fields.clone())]), Unsuitable::Many);
    fields.pop();
    assert_eq!(schema(vec![message("A", fields)]).messages[0].fields.len(), Schema::FIELDS);
}
