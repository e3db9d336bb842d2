//! Schemas of every kind.

use super::*;

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
    let twice = vec![
        field(1, "a", Type::Bool, Optional, ""),
        field(1, "b", Type::Bool, Optional, ""),
        field(i32::MAX, "c", Type::Bool, Optional, ""),
        field(-1, "d", Type::Bool, Optional, ""),
    ];
    list.push(("numbers twice", schema(vec![message("M", twice)], &[("P", ".a.M", ".a.M")])));
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

#[tokio::test(flavor = "multi_thread")]
async fn schemas_of_every_bad_kind() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    works(&client(&daemon.path).await, 1).await;
    let memory = daemon.memory();
    let files = daemon.files();
    for (name, bytes) in worst_schemas() {
        let path = daemon.path.clone();
        let length = bytes.len();
        let honest = client(&daemon.path).await;
        let (taken, longest) = beside(name, honest, move || {
            let mut taken = 0;
            for _ in 0..2 {
                taken += Attacker::try_attach(&path, &hello(Role::Caller, "evil", &bytes)).map_or(0, |_| 1);
            }
            taken
        })
        .await;
        println!("  {length} bytes, taken {taken} times");
        assert!(longest < SOON, "{name}: {longest:?}");
    }
    assert!(daemon.settles(files));
    println!("memory {memory} -> {} KiB", daemon.memory());
}

/// Two schemas whose first difference is long; each call fails by it.
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
    let (one, other) = (of(&"x".repeat(200)), of(&"y".repeat(200)));
    let (count, longest) = beside("differences", honest, move || {
        let _server = Attacker::attach(&path, &hello(Role::Server, "evil", &one));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &other));
        let _region = caller.grow(1 << 20).unwrap();
        let begun = Instant::now();
        let (mut said, mut heard) = (0_u64, 0);
        while begun.elapsed() < Duration::from_secs(3) {
            if caller.queue.try_say(&[ask(said, 0, FIRST)]) == 1 {
                said += 1;
            }
            while let Some(bytes) = caller.queue.try_hear() {
                if let Descriptor::Failure { reason, .. } =
                    Descriptor::read(bytes[..].try_into().unwrap()).unwrap()
                {
                    heard += 1;
                    let mut done = Done::default();
                    done.push(reason.number);
                    caller.queue.try_say(&[Descriptor::Done(done).to_bytes()]);
                }
            }
        }
        heard
    })
    .await;
    println!("  {count} failures");
    assert!(longest < SOON, "{longest:?}");
}
