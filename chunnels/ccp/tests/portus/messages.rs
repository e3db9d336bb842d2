//! The messages, compared with the messages of portus and with themselves.

use bertha_ccp::message::{
    AlgorithmName, Change, Clause, Create, Field, Install, Instruction, MAX_FIELDS, Malformed, Measure,
    Message, Operation, Ready, Register, Update,
};
use portus::lang::{self, Reg, Type};
use portus::serialize as theirs;
use proptest::collection::vec;
use proptest::prelude::*;

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn portus_reads_the_beginning_of_a_flow() {
    let create = Create {
        flow: 7,
        initial_window: 13_520,
        packet: 1_352,
        source_address: 0x0a00_0001,
        source_port: 4_242,
        destination_address: 0x0a00_0002,
        destination_port: 80,
        algorithm: AlgorithmName::new("cubic").unwrap(),
    };
    let bytes = encoded(&Message::Create(create));
    let (theirs::Msg::Cr(read), length) = theirs::Msg::from_buf(&bytes).unwrap() else {
        panic!("not a create");
    };
    assert_eq!((length, bytes.len()), (96, 96));
    let expected = theirs::create::Msg {
        sid: 7,
        init_cwnd: 13_520,
        mss: 1_352,
        src_ip: 0x0a00_0001,
        src_port: 4_242,
        dst_ip: 0x0a00_0002,
        dst_port: 80,
        cong_alg: Some("cubic".to_owned()),
    };
    assert_eq!(read, expected);
    // portus can't write a name.
    let nameless = theirs::serialize(&theirs::create::Msg { cong_alg: None, ..expected }).unwrap();
    let create = Create { algorithm: AlgorithmName::DEFAULT, ..create };
    assert_eq!(encoded(&Message::Create(create)), nameless);
}

#[test]
fn reports_and_ready_are_those_of_portus() {
    let fields = vec![0, 1, u64::MAX, 424_242];
    let expected = theirs::measure::Msg { sid: 9, program_uid: 3, num_fields: 4, fields: fields.clone() };
    let expected = theirs::serialize(&expected).unwrap();
    assert_eq!(encoded(&Message::Measure(Measure { flow: 9, program: 3, fields })), expected);

    let expected = theirs::serialize(&theirs::ready::Msg { id: 0xaabb }).unwrap();
    assert_eq!(encoded(&Message::Ready(Ready { id: 0xaabb })), expected);
}

#[test]
fn programs_of_portus_are_read_and_written_alike() {
    let source = b"
        (def (Report (volatile acked 0) (minrtt +infinity)) (volatile gain 4) (mode 2))
        (when true
            (:= Report.acked (+ Report.acked Ack.bytes_acked))
            (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
            (:= next (* gain mode))
            (:= gain (if Flow.was_timeout next))
            (fallthrough))
        (when (|| (> Micros 4000) (< Report.minrtt 10)) (report) (:= Micros 0))";
    let (compiled, scope) = lang::compile(source, &[]).unwrap();
    let (clauses, instructions) = (compiled.events.len(), compiled.instrs.len());
    let bytes = theirs::serialize(&theirs::install::Msg {
        sid: 0,
        program_uid: scope.program_uid,
        num_events: clauses as u32,
        num_instrs: instructions as u32,
        instrs: compiled,
    })
    .unwrap();
    let (message, length) = Message::decode(&bytes).unwrap();
    assert_eq!(length, bytes.len());
    assert_eq!(encoded(&message), bytes);
    let Message::Install(install) = message else { panic!("not a program") };
    assert_eq!((install.clauses.len(), install.instructions.len()), (clauses, instructions));
    let first = Instruction {
        operation: Operation::Define,
        result: Register::Report { index: 0, is_volatile: true },
        left: Register::Report { index: 0, is_volatile: true },
        right: Register::Immediate(0),
    };
    assert!(install.instructions.contains(&first), "{:?}", install.instructions);
}

#[test]
fn changes_and_updates_of_portus_are_read_and_written_alike() {
    let fields = vec![
        (Reg::Implicit(4, Type::Num(None)), 42),
        (Reg::Control(3, Type::Num(None), false), u64::MAX),
        (Reg::Control(2, Type::Num(None), true), 1),
    ];
    let ours = vec![
        Field { register: Register::Implicit(4), value: 42 },
        Field { register: Register::Control { index: 3, is_volatile: false }, value: u64::MAX },
        Field { register: Register::Control { index: 2, is_volatile: true }, value: 1 },
    ];
    let change = theirs::changeprog::Msg { sid: 1, program_uid: 7, num_fields: 3, fields: fields.clone() };
    let bytes = theirs::serialize(&change).unwrap();
    let expected = Message::Change(Change { flow: 1, program: 7, fields: ours.clone() });
    assert_eq!(Message::decode(&bytes).unwrap(), (expected.clone(), bytes.len()));
    assert_eq!(encoded(&expected), bytes);

    let bytes = theirs::serialize(&theirs::update_field::Msg { sid: 2, num_fields: 3, fields }).unwrap();
    let expected = Message::Update(Update { flow: 2, fields: ours });
    assert_eq!(Message::decode(&bytes).unwrap(), (expected.clone(), bytes.len()));
    assert_eq!(encoded(&expected), bytes);
}

#[test]
fn what_exceeds_a_limit_is_not_written() {
    let mut bytes = Vec::new();
    let measure = Measure { flow: 1, program: 1, fields: vec![0; MAX_FIELDS + 1] };
    let too_many = Malformed::TooMany { what: "fields", count: 111 };
    assert_eq!(Message::Measure(measure).encode(&mut bytes), Err(too_many));
    assert!(bytes.is_empty());
    assert_eq!(AlgorithmName::new(&"x".repeat(64)), Err(Malformed::Name));
    assert_eq!(AlgorithmName::new("a\0"), Err(Malformed::Name));
}

fn register() -> impl Strategy<Value = Register> {
    let value = prop_oneof![0..130_u32, any::<u32>()];
    (0..7_u8, value, any::<bool>()).prop_map(|(kind, index, is_volatile)| match kind {
        0 => Register::Control { index, is_volatile },
        1 => Register::Immediate(index),
        2 => Register::Implicit(index),
        3 => Register::Local(index),
        4 => Register::Signal(index),
        5 => Register::Report { index, is_volatile },
        _ => Register::Temporary(index),
    })
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let operations = vec![Operation::Add, Operation::Define, Operation::Ewma, Operation::Subtract];
    (proptest::sample::select(operations), register(), register(), register())
        .prop_filter("read-only", |(_, result, ..)| {
            !matches!(result, Register::Immediate(_) | Register::Signal(_))
        })
        .prop_map(|(operation, result, left, right)| Instruction { operation, result, left, right })
}

fn clause() -> impl Strategy<Value = Clause> {
    any::<[u32; 4]>().prop_map(|[condition_start, condition_count, body_start, body_count]| Clause {
        condition_start,
        condition_count,
        body_start,
        body_count,
    })
}

fn field() -> impl Strategy<Value = Field> {
    (register(), any::<u64>())
        .prop_filter("takes no update", |(register, _)| {
            matches!(register, Register::Control { .. } | Register::Implicit(_))
        })
        .prop_map(|(register, value)| Field { register, value })
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any::<u32>().prop_map(|id| Message::Ready(Ready { id })),
        (any::<u32>(), any::<u32>(), vec(any::<u64>(), 0..=MAX_FIELDS))
            .prop_map(|(flow, program, fields)| Message::Measure(Measure { flow, program, fields })),
        (any::<u32>(), any::<u32>(), vec(clause(), 0..20), vec(instruction(), 0..40)).prop_map(
            |(flow, program, clauses, instructions)| {
                Message::Install(Install { flow, program, clauses, instructions })
            }
        ),
        (any::<u32>(), vec(field(), 0..30))
            .prop_map(|(flow, fields)| Message::Update(Update { flow, fields })),
        (any::<u32>(), any::<u32>(), vec(field(), 0..30))
            .prop_map(|(flow, program, fields)| Message::Change(Change { flow, program, fields })),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message(), next in vec(any::<u8>(), 0..20)) {
        let mut bytes = encoded(&message);
        let length = bytes.len();
        bytes.extend(next);
        prop_assert_eq!(Message::decode(&bytes), Ok((message, length)));
        prop_assert_eq!(Message::decode(&bytes[..length - 1]), Err(Malformed::Truncated));
    }

    #[test]
    fn anything_that_is_read_is_written_alike(mut bytes in vec(any::<u8>(), 8..200), kind in 0..6_u8) {
        let length = bytes.len() as u8;
        bytes[..4].copy_from_slice(&[kind, 0, length, 0]);
        if kind == 5 {
            // `Ready` comes from a datapath and not from a flow, so the flow's number is not read.
            bytes[4..8].fill(0);
        }
        if let Ok((message, length)) = Message::decode(&bytes) {
            prop_assert_eq!(encoded(&message), &bytes[..length]);
        }
    }
}
