use super::*;
use prost::Message as _;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto, field_descriptor_proto,
};

/// Returns a descriptor set of services that take the same message, whose field has this name. The name of the file is no part of a schema.
pub(crate) fn descriptors(file: &str, services: &[&str], field: &str) -> Vec<u8> {
    let field = FieldDescriptorProto {
        name: Some(field.into()),
        number: Some(1),
        label: Some(field_descriptor_proto::Label::Optional as i32),
        r#type: Some(field_descriptor_proto::Type::Int32 as i32),
        ..Default::default()
    };
    let method = MethodDescriptorProto {
        name: Some("Ask".into()),
        input_type: Some(".a.Message".into()),
        output_type: Some(".a.Message".into()),
        ..Default::default()
    };
    let service = |name: &&str| ServiceDescriptorProto {
        name: Some((*name).into()),
        method: vec![method.clone()],
        ..Default::default()
    };
    let file = FileDescriptorProto {
        name: Some(file.into()),
        package: Some("a".into()),
        syntax: Some("proto3".into()),
        message_type: vec![DescriptorProto {
            name: Some("Message".into()),
            field: vec![field],
            ..Default::default()
        }],
        service: services.iter().map(service).collect(),
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

fn numbered(number: usize) -> Vec<u8> {
    descriptors("a.proto", &["A"], &format!("field_{number}"))
}

/// Does what is done for a hello.
fn hello(plans: &Plans, descriptors: Vec<u8>) -> Arc<Typed> {
    let name = Name::of(&descriptors);
    plans.find(name, By::Hello).unwrap_or_else(|| plans.read(name, descriptors, By::Hello).unwrap())
}

#[test]
fn the_second_hello_of_a_schema_is_not_read() {
    let plans = Plans::default();
    let first = hello(&plans, numbered(0));
    let second = hello(&plans, numbered(0));
    assert!(Arc::ptr_eq(&first, &second));
    drop((first, second));
    hello(&plans, numbered(0));
    assert_eq!(plans.count(), 1);
    hello(&plans, numbered(1));
    assert_eq!(plans.count(), 2);
}

/// The rest of the descriptors, beside the schema, goes to other daemons, and is each application's own.
#[test]
fn descriptors_of_one_schema_have_one_plan_and_stay_apart() {
    let plans = Plans::default();
    let [one, other] = ["one.proto", "other.proto"].map(|file| descriptors(file, &["A"], "field"));
    let [first, second] = [&one, &other].map(|descriptors| hello(&plans, descriptors.clone()));
    assert!(Arc::ptr_eq(&first.schema, &second.schema) && Arc::ptr_eq(&first.plan, &second.plan));
    assert!(first.has("a.A") && second.has("a.A") && second.method(0).is_some());
    assert_eq!([&first.descriptors, &second.descriptors], [&one, &other]);
    assert!(!Arc::ptr_eq(&first.plan, &hello(&plans, numbered(0)).plan));
}

/// Ever new schemas take the places of the last alone.
#[test]
fn strangers_evict_neither_what_is_used_nor_what_is_bound_and_take_a_bounded_memory() {
    let plans = Plans::default();
    let used = hello(&plans, descriptors("a.proto", &["Used"], "field"));
    plans.bind(&descriptors("a.proto", &["Bound"], "field")).unwrap();
    hello(&plans, descriptors("a.proto", &["Idle"], "field"));
    let before = plans.count();
    for number in 0..1000 {
        hello(&plans, numbered(number));
        let known = plans.known.lock();
        assert!(known.recent.typed.len() <= MOST && known.by_name.len() <= 4 * MOST, "{number}");
        assert!(known.by_schema.len() <= 4 * MOST);
    }
    assert_eq!(plans.count(), before + 1000);
    assert!(Arc::ptr_eq(&used, &hello(&plans, descriptors("a.proto", &["Used"], "field"))));
    hello(&plans, descriptors("a.proto", &["Bound"], "field"));
    assert_eq!(plans.count(), before + 1000);
    hello(&plans, descriptors("a.proto", &["Idle"], "field"));
    assert_eq!(plans.count(), before + 1001);
}

#[test]
fn the_last_that_were_used_are_kept() {
    let plans = Plans::default();
    for number in 0..MOST {
        hello(&plans, numbered(number));
    }
    hello(&plans, numbered(0));
    hello(&plans, numbered(MOST));
    let before = plans.count();
    hello(&plans, numbered(0));
    assert_eq!(plans.count(), before);
    hello(&plans, numbered(1));
    assert_eq!(plans.count(), before + 1);
}

#[test]
fn bytes_are_bounded_and_what_is_larger_is_not_kept() {
    let typed = |number| Arc::new(Typed::read(numbered(number)).unwrap());
    let each = typed(100).bytes();
    let mut kept = Kept::new(3 * each);
    for number in 100..110 {
        kept.keep(&typed(number));
        assert!(kept.typed.len() <= 3 && kept.bytes == kept.typed.len() * each, "{number}");
    }
    assert_eq!(kept.typed.len(), 3);
    let mut small = Kept::new(each - 1);
    assert!(small.keep(&typed(100)).is_empty() && small.typed.is_empty());
}

/// An operator's file has several services, and an application one of them.
#[test]
fn each_service_of_a_bound_schema_is_known_alone() {
    let plans = Plans::default();
    let bound = plans.bind(&descriptors("a.proto", &["B", "A"], "field")).unwrap();
    let names: Vec<_> = bound.iter().map(|typed| typed.schema.methods()[0].service.as_str()).collect();
    assert_eq!((names, plans.count()), (vec!["a.A", "a.B"], 2));
    for (typed, service) in bound.iter().zip(["A", "B"]) {
        let known = hello(&plans, descriptors("a.proto", &[service], "field"));
        assert!(Arc::ptr_eq(typed, &known));
    }
    plans.bind(&descriptors("a.proto", &["B", "A"], "field")).unwrap();
    assert_eq!(plans.count(), 2);
}

#[test]
fn what_is_no_schema_or_too_much_is_not_bound() {
    let plans = Plans::default();
    assert!(matches!(plans.bind(b"x"), Err(Unbound::Unsuitable(Unsuitable::Malformed(_)))));
    assert_eq!(plans.bind(b"").unwrap_err(), Unbound::Unsuitable(Unsuitable::Empty));
    let names: Vec<_> = (0..=MOST).map(|number| format!("A{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(plans.bind(&descriptors("a.proto", &names, "field")).unwrap_err(), Unbound::Many(MOST + 1));
    assert_eq!(plans.bind(&descriptors("a.proto", &names[1..], "field")).unwrap().len(), MOST);
}
