//! Schemas of every kind.

use super::*;
use crate::received::take_regions;

pub(crate) fn worst_schemas() -> Vec<(&'static str, Vec<u8>)> {
    use Label::{Optional, Repeated};
    let empty = || message("Empty", vec![]);
    let mut list = Vec::new();
    let wide = (1..=16_000)
        .map(|number| {
            let number = if number >= 19_000 { number + 1000 } else { number };
            field(number, &format!("f{number}"), Type::Bool, Optional, "")
        })
        .collect();
    list.push(("16,000 fields", schema(vec![message("M", wide)], &[("P", ".a.M", ".a.M")])));
    let mut choices = message("M", vec![]);
    for number in 1..=9_000 {
        let mut one = field(number, &format!("f{number}"), Type::Bool, Optional, "");
        one.oneof_index = Some(number - 1);
        choices.field.push(one);
        choices
            .oneof_decl
            .push(OneofDescriptorProto { name: Some(format!("o{number}")), ..Default::default() });
    }
    list.push(("9,000 choices", schema(vec![choices], &[("P", ".a.M", ".a.M")])));
    let messages: Vec<_> = (0..4_000)
        .map(|number| {
            let other = |number: i32| format!(".a.M{}", number % 4_000);
            message(
                &format!("M{number}"),
                vec![
                    field(1, "x", Type::Message, Optional, &other(number + 1)),
                    field(2, "y", Type::Message, Repeated, &other(number + 2)),
                    field(3, "z", Type::Message, Repeated, &other(number * 7)),
                ],
            )
        })
        .collect();
    list.push(("4,000 messages in circles", schema(messages, &[("P", ".a.M0", ".a.M0")])));
    let methods: Vec<_> =
        (0..20_000).map(|number| (format!("P{number}"), ".a.Empty".into(), ".a.Empty".into())).collect();
    list.push((
        "20,000 methods",
        FileDescriptorSet { file: vec![file(vec![empty()], "A", &methods)] }.encode_to_vec(),
    ));
    for (name, numbers) in [
        ("a number twice", &[1, 1][..]),
        ("a number that is too large", &[i32::MAX]),
        ("a negative number", &[-1]),
    ] {
        let fields = numbers.iter().zip(["a", "b"]);
        let fields = fields.map(|(number, name)| field(*number, name, Type::Bool, Optional, "")).collect();
        list.push((name, schema(vec![message("M", fields)], &[("P", ".a.M", ".a.M")])));
    }
    // Nesting without end in bytes: each level wraps the previous as a field 3 (nested_type).
    let mut bytes: Vec<u8> = Vec::new();
    for _ in 0..40_000 {
        let mut outer = vec![0x1a];
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        if outer.len() + bytes.len() > 900_000 {
            break;
        }
        outer.extend(&bytes);
        bytes = outer;
    }
    let mut set = vec![0x22];
    prost::encoding::encode_varint(bytes.len() as u64, &mut set);
    set.extend(&bytes);
    let mut all = vec![0x0a];
    prost::encoding::encode_varint(set.len() as u64, &mut all);
    all.extend(&set);
    list.push(("levels to the end", all));
    // Groups, which are skipped.
    list.push(("groups", vec![0x0b; 1 << 20]));
    let long = "x".repeat(500_000);
    list.push((
        "a long name",
        schema(vec![message("M", vec![field(1, &long, Type::Bool, Optional, "")])], &[("P", ".a.M", ".a.M")]),
    ));
    let many_enums = {
        let values: Vec<_> = (0..16_000)
            .map(|number| prost_types::EnumValueDescriptorProto {
                name: Some(format!("V{number}")),
                number: Some(number),
                options: None,
            })
            .collect();
        let mut schema = file(
            vec![message("M", vec![field(1, "e", Type::Enum, Optional, ".a.E")])],
            "A",
            &[("P".into(), ".a.M".into(), ".a.M".into())],
        );
        schema.enum_type = vec![prost_types::EnumDescriptorProto {
            name: Some("E".into()),
            value: values,
            ..Default::default()
        }];
        FileDescriptorSet { file: vec![schema] }.encode_to_vec()
    };
    list.push(("16,000 values", many_enums));
    list
}

/// Returns what the daemon says of a caller with this schema; nothing if it is taken.
fn refusal(path: &Path, descriptors: &[u8]) -> Option<String> {
    let mut socket = UnixStream::connect(path).unwrap();
    socket.write_all(&hello(Role::Caller, "evil", descriptors).to_bytes().unwrap()).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let mut answer = [0; Answer::SIZE];
    socket.read_exact(&mut answer).unwrap();
    match Answer::read(&answer).unwrap() {
        Answer::Refused { text } => {
            let mut said = vec![0; text as usize];
            socket.read_exact(&mut said).unwrap();
            Some(String::from_utf8(said).unwrap())
        }
        answer => {
            assert_eq!(answer, Answer::Taken);
            None
        }
    }
}

/// Schemas within the bounds are taken, and others refused with the reason, and both take a bounded memory.
#[tokio::test(flavor = "multi_thread")]
async fn schemas_of_every_bad_kind() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    works(&client(&daemon.path).await, 1).await;
    let (before, files) = (daemon.memory(), daemon.files());
    for (name, bytes) in worst_schemas() {
        let path = daemon.path.clone();
        let honest = client(&daemon.path).await;
        let refusals = move || [(); 2].map(|()| refusal(&path, &bytes));
        let (refusals, _) = beside(name, honest, refusals).await;
        let expected = match name {
            "16,000 fields" | "9,000 choices" | "4,000 messages in circles" => None,
            "20,000 methods" | "16,000 values" => {
                Some("the schema has more than 4096 methods, 4096 messages")
            }
            "a number twice" => Some("`a.M.b` has the number 1, which is out of range or taken"),
            "a number that is too large" => {
                Some("`a.M.a` has the number 2147483647, which is out of range or taken")
            }
            "a negative number" => Some("`a.M.a` has the number -1, which is out of range or taken"),
            "a long name" => Some("has more than 255 letters"),
            "levels to the end" | "groups" => Some("the bytes are no descriptor set of protobuf"),
            _ => panic!("{name}"),
        };
        for refusal in refusals {
            let is_right = match (expected, &refusal) {
                (Some(expected), Some(refusal)) => refusal.contains(expected),
                (None, None) => true,
                _ => false,
            };
            assert!(is_right, "{name}: {refusal:?}");
        }
    }
    assert!(daemon.settles(files));
    println!("memory {before} -> {} KiB, and {} at most", daemon.memory(), daemon.most_memory());
    assert!(daemon.most_memory() < before + MOST_MEMORY);
}

/// Number of KiB that the schemas may take while they are read: each has a mebibyte, and names, plans and a part of the process's stack take
/// several times as much.
const MOST_MEMORY: u64 = 128 << 10;

/// Two schemas whose first difference is long: each call of a caller that has one fails by it, and its text is short.
#[tokio::test(flavor = "multi_thread")]
async fn differences_of_schemas_that_are_long() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let of = |last: &str| {
        let mut fields: Vec<_> = (1..=15_000)
            .map(|number| field(number, &format!("f{number}"), Type::Bool, Label::Optional, ""))
            .collect();
        fields.push(field(15_001, last, Type::Bool, Label::Optional, ""));
        schema(vec![message("M", fields)], &[("P", ".a.M", ".a.M")])
    };
    let long = "x".repeat(200);
    let (one, other) = (of(&long), of(&"y".repeat(200)));
    beside("differences", honest, move || {
        let _server = Attacker::attach(&path, &hello(Role::Server, "evil", &one));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &other));
        let _region = caller.grow(1 << 20).unwrap();
        let regions = take_regions(&caller.control);
        let (mut said, mut heard) = (0, 0);
        while heard < 2_000 {
            if said < 2_000 && caller.queue.try_say(&[ask(said, 0, FIRST)]) == 1 {
                said += 1;
            }
            let Some(bytes) = caller.queue.try_hear() else {
                assert!(!caller.queue.is_over());
                continue;
            };
            match Descriptor::read(bytes[..].try_into().unwrap()).unwrap() {
                Descriptor::Grown { bytes } => regions.await_bytes(bytes),
                Descriptor::Failure { kind, may_have_run, reason, .. } => {
                    assert_eq!((kind, may_have_run), (FailureKind::Malformed, false));
                    let text = String::from_utf8(regions.text(reason.at)).unwrap();
                    assert!(text.contains(&long) && text.len() < 1_024, "{text}");
                    heard += 1;
                    give_back(&mut caller.queue, reason.number);
                }
                other => assert!(matches!(other, Descriptor::Done(_)), "{other:?}"),
            }
        }
    })
    .await;
}
