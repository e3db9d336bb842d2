//! Programs and signals.
//!
//! No program reads a clock, since libccp has one of its own.

use bertha_ccp::Signals;
use bertha_ccp::message::{Instruction, Operation, Register};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const NUMBERS: &[&str] = &[
    "Report.a",
    "Report.b",
    "Report.c",
    "x",
    "y",
    "Cwnd",
    "Rate",
    "Ack.bytes_acked",
    "Ack.bytes_misordered",
    "Ack.ecn_bytes",
    "Ack.ecn_packets",
    "Ack.lost_pkts_sample",
    "Ack.packets_acked",
    "Ack.packets_misordered",
    "Flow.bytes_in_flight",
    "Flow.bytes_pending",
    "Flow.packets_in_flight",
    "Flow.rate_incoming",
    "Flow.rate_outgoing",
    "Flow.rtt_sample_us",
    "+infinity",
];

fn atom() -> impl Strategy<Value = String> {
    let constant = prop_oneof![0..12_u32, Just(1_073_741_823), 0..2_000_000_000_u32];
    prop_oneof![3 => select(NUMBERS).prop_map(str::to_owned), 1 => constant.prop_map(|one| one.to_string())]
}

/// Makes an expression of so few parts that libccp has registers for all of them.
fn number() -> impl Strategy<Value = String> {
    let operators = vec!["+", "-", "*", "/", "max", "min", "wrapped_max"];
    atom().prop_recursive(2, 6, 2, move |inner| {
        (select(operators.clone()), inner.clone(), inner)
            .prop_map(|(operator, a, b)| format!("({operator} {a} {b})"))
    })
}

fn comparison() -> impl Strategy<Value = String> {
    (select(vec!["<", ">", "=="]), number(), atom())
        .prop_map(|(operator, a, b)| format!("({operator} {a} {b})"))
}

fn condition() -> impl Strategy<Value = String> {
    let both = (select(vec!["&&", "||"]), comparison(), comparison())
        .prop_map(|(operator, a, b)| format!("({operator} {a} {b})"));
    prop_oneof![2 => Just("true".to_owned()), 4 => comparison(), 1 => both]
}

fn statement() -> impl Strategy<Value = String> {
    let target = select(vec!["Report.a", "Report.b", "Report.c", "x", "y", "Cwnd", "Rate"]);
    let variable = select(vec!["Report.a", "Report.b", "Report.c", "x", "y"]);
    prop_oneof![
        6 => (target, number()).prop_map(|(target, value)| format!("(:= {target} {value})")),
        1 => (variable.clone(), 0..11_u32, atom()).prop_map(|(target, weight, new)| format!("(:= {target} (ewma {weight} {new}))")),
        1 => (variable.clone(), select(vec!["if", "!if"]), select(vec!["<", ">"]), atom(), atom(), atom())
            .prop_map(|(target, which, operator, a, b, value)| format!("(:= {target} ({which} ({operator} {a} {b}) {value}))")),
        1 => Just("(fallthrough)".to_owned()),
        1 => Just("(report)".to_owned()),
    ]
}

/// Makes a program in the language of the thesis.
pub fn program() -> impl Strategy<Value = String> {
    let value = prop_oneof![(0..100_u32).prop_map(|one| one.to_string()), Just("+infinity".to_owned())];
    let definitions =
        (any::<[bool; 5]>(), proptest::array::uniform5(value)).prop_map(|(volatile, values)| {
            let one = |at: usize, name: &str| {
                let word = if volatile[at] { "volatile " } else { "" };
                format!("({word}{name} {})", values[at])
            };
            format!(
                "(def (Report {} {} {}) {} {})",
                one(0, "a"),
                one(1, "b"),
                one(2, "c"),
                one(3, "x"),
                one(4, "y")
            )
        });
    let clause = (condition(), vec(statement(), 1..5))
        .prop_map(|(condition, body)| format!("(when {condition} {})", body.join(" ")));
    (definitions, vec(clause, 1..5))
        .prop_map(|(definitions, clauses)| format!("{definitions} {}", clauses.join(" ")))
}

fn small(limit: u32) -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..limit, 1 => Just(limit - 1)]
}

/// Makes a register that may be read: it exists, and is no clock.
fn readable() -> impl Strategy<Value = Register> {
    prop_oneof![
        any::<u32>().prop_map(Register::Immediate),
        (0..12_u32).prop_map(Register::Immediate),
        select(vec![0_u32, 1, 2, 4, 5]).prop_map(Register::Implicit),
        small(8).prop_map(Register::Local),
        small(8).prop_map(Register::Temporary),
        prop_oneof![0..5_u32, 6..20_u32].prop_map(Register::Signal),
        (small(110), any::<bool>())
            .prop_map(|(index, is_volatile)| Register::Report { index: index % 110, is_volatile }),
        (small(110), any::<bool>()).prop_map(|(index, is_volatile)| Register::Control { index, is_volatile }),
        (0..3_u32, any::<bool>()).prop_map(|(index, is_volatile)| Register::Report { index, is_volatile }),
    ]
}

/// Makes a register that may be written, or does not exist. It is not the timer.
fn writable() -> impl Strategy<Value = Register> {
    prop_oneof![
        select(vec![0_u32, 1, 2, 4, 5, 6, 1_000]).prop_map(Register::Implicit),
        small(10).prop_map(Register::Local),
        small(10).prop_map(Register::Temporary),
        (small(120), any::<bool>()).prop_map(|(index, is_volatile)| Register::Report { index, is_volatile }),
        (small(120), any::<bool>()).prop_map(|(index, is_volatile)| Register::Control { index, is_volatile }),
        (0..3_u32, any::<bool>()).prop_map(|(index, is_volatile)| Register::Report { index, is_volatile }),
    ]
}

fn definition() -> impl Strategy<Value = Instruction> {
    let constant = prop_oneof![any::<u32>(), 0..12_u32, Just(0x3fff_ffff)].prop_map(Register::Immediate);
    let value = prop_oneof![4 => constant, 1 => readable()];
    (writable(), value)
        .prop_map(|(register, right)| Instruction {
            operation: Operation::Define,
            result: register,
            left: register,
            right,
        })
        // libccp counts a register that does not exist among the registers to report, but ends its report at
        // the last existing register.
        .prop_filter("reads what does not exist", |one| match one.left {
            Register::Local(index) | Register::Temporary(index) => index < 8,
            Register::Report { index, .. } | Register::Control { index, .. } => index < 110,
            Register::Implicit(index) => index < 6,
            _ => true,
        })
}

/// Makes instructions that no compiler makes.
pub fn instructions() -> impl Strategy<Value = Vec<Instruction>> {
    let operations = vec![
        Operation::Add,
        Operation::Bind,
        Operation::Define,
        Operation::Divide,
        Operation::Equal,
        Operation::Ewma,
        Operation::Greater,
        Operation::If,
        Operation::Less,
        Operation::Max,
        Operation::MaxWrapped,
        Operation::Min,
        Operation::Multiply,
        Operation::IfNot,
        Operation::Subtract,
    ];
    let instruction = (select(operations), writable(), readable(), readable())
        .prop_map(|(operation, result, left, right)| Instruction { operation, result, left, right });
    (vec(definition(), 0..8), vec(instruction, 1..40)).prop_map(|(mut all, rest)| {
        all.extend(rest);
        all
    })
}

/// Makes the signals of some acknowledgements, within the ranges that libccp can hold.
pub fn signals() -> impl Strategy<Value = Vec<Signals>> {
    let count = || prop_oneof![4 => 0..20_000_u64, 1 => Just(0), 1 => any::<u32>().prop_map(u64::from)];
    let wide = || prop_oneof![4 => 0..200_000_000_u64, 1 => Just(0), 1 => any::<u64>()];
    let one = (proptest::array::uniform10(count()), proptest::array::uniform3(wide()), any::<bool>())
        .prop_map(|(counts, wide, timeout)| Signals {
            bytes_acked: counts[0],
            bytes_misordered: counts[1],
            ecn_bytes: counts[2],
            ecn_packets: counts[3],
            lost_pkts_sample: counts[4],
            now: 0,
            packets_acked: counts[5],
            packets_misordered: counts[6],
            bytes_in_flight: counts[7],
            bytes_pending: counts[8],
            packets_in_flight: counts[9],
            rate_incoming: wide[0],
            rate_outgoing: wide[1],
            rtt_sample_us: wide[2],
            was_timeout: u64::from(timeout),
        });
    vec(one, 1..20)
}
