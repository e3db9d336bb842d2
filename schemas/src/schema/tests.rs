use super::*;
use crate::described::{field, file, message, of_message, repeated, schema, set, with_choice, with_optional};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto};

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
            "field test.Part 000000002 whole test.Request",
            "field test.Request 000000001 colour test.Colour",
            "field test.Request 000000003 name string",
            "field test.Request 000000004 marks packed sint64",
            "field test.Request 000000005 parts repeated test.Part",
            "field test.Request 000000006 right oneof choice_0 test.Part",
            "field test.Request 000000007 left oneof choice_0 bytes",
            "field test.Request 000000008 weight optional double",
            "message test.Part",
            "message test.Request",
            "method test.Doer Do test.Request returns test.Request",
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
    for number in [0, -1, 1 << 29] {
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
