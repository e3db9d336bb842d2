//! Encoding and decoding by a plan, against the code that prost generates.

use super::count;
use super::hotel::{request, response};
use crate::figures::managed::by_tonic::Question;
use crate::figures::managed::{bench, reservation};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_managed::Service;
use bertha_schemas::{Encoded, Limits, Plan, PrivateMemory, Schema};
use prost::Message;
use std::hint::black_box;

/// Budgets of the instructions of a plan to those of prost.
const HOTEL: Budget = Budget::AtMost(2.0);
const BYTES: Budget = Budget::AtMost(1.1);

/// Number of bytes in the message of bytes.
const LARGE: usize = 8 << 10;

/// The work of a probe: encoding or decoding one of the messages.
pub(super) const WORKS: [&str; 6] = [
    "encode-request",
    "decode-request",
    "encode-response",
    "decode-response",
    "encode-bytes",
    "decode-bytes",
];

/// Counts each work by both, and compares a whole call of the hotel, and a message of bytes.
pub(super) fn instructions(report: &mut Report, iterations: u64) -> Result<(), Error> {
    let compared = [("a call of a hotel", &WORKS[..4], HOTEL), ("8 KiB of bytes", &WORKS[4..], BYTES)];
    for (of, works, budget) in compared {
        let (mut encoding, mut decoding) = ([0.0; 2], [0.0; 2]);
        for work in works {
            let sums = if work.starts_with("encode") { &mut encoding } else { &mut decoding };
            for (by, sum) in ["plan", "prost"].into_iter().zip(sums) {
                let name = format!("{of}, {} by {by}", work.replace('-', " of the "));
                match report.count(&name, count(&format!("{by}-{work}"), iterations))? {
                    Some(count) => *sum += count,
                    None => return Ok(()),
                }
            }
        }
        let ratio = |[plan, prost]: [f64; 2]| plan / prost;
        let both = [encoding[0] + decoding[0], encoding[1] + decoding[1]];
        report.bounded(format!("{of}, encoded and decoded, plan to prost"), ratio(both), "x", budget);
        report.bounded(format!("{of}, encoded, plan to prost"), ratio(encoding), "x", budget);
        report.bounded(format!("{of}, decoded, plan to prost"), ratio(decoding), "x", budget);
    }
    Ok(())
}

/// Runs a work by a plan or by prost, if there is one of this name.
pub(super) fn probe(by: &str, work: &str, iterations: u64) -> Option<Result<(), Error>> {
    let (verb, what) = work.split_once('-')?;
    let is_encoding = match verb {
        "encode" => true,
        "decode" => false,
        _ => return None,
    };
    let hotel = reservation::hotel::Service::descriptors();
    match (what, by) {
        ("request", "prost") => Some(by_prost(&request(), is_encoding, iterations)),
        ("response", "prost") => Some(by_prost(&response(), is_encoding, iterations)),
        ("bytes", "prost") => Some(by_prost(&bytes(), is_encoding, iterations)),
        ("request", _) => Some(by_plan(&request(), hotel, "reservation.Request", is_encoding, iterations)),
        ("response", _) => Some(by_plan(&response(), hotel, "reservation.Response", is_encoding, iterations)),
        ("bytes", _) => {
            let calls = bench::calls::Service::descriptors();
            Some(by_plan(&bytes(), calls, "bench.Question", is_encoding, iterations))
        }
        _ => None,
    }
}

/// Encodes into a buffer that is used again, or decodes a message, which is dropped.
fn by_prost<M: Message + Default>(message: &M, is_encoding: bool, iterations: u64) -> Result<(), Error> {
    let mut encoded = message.encode_to_vec();
    for _ in 0..iterations {
        if is_encoding {
            encoded.clear();
            black_box(message)
                .encode(&mut encoded)
                .map_err(Error::while_doing(ErrorKind::Codec, "encoding"))?;
            black_box(&encoded);
        } else {
            let decoded = M::decode(black_box(&encoded[..]));
            black_box(decoded.map_err(Error::while_doing(ErrorKind::Codec, "decoding"))?);
        }
    }
    Ok(())
}

/// Encodes into a buffer that is used again, or decodes into memory, which is freed.
fn by_plan(
    message: &impl Message,
    descriptors: &[u8],
    name: &str,
    is_encoding: bool,
    iterations: u64,
) -> Result<(), Error> {
    let wrong = |what: &'static str| move |error| Error::while_doing(ErrorKind::Codec, what)(error);
    let schema =
        Schema::read(descriptors).map_err(Error::while_doing(ErrorKind::Codec, "reading a schema"))?;
    let plan = Plan::new(&schema);
    let id =
        plan.message(name).ok_or_else(|| Error::new(ErrorKind::Codec, "a message is not in the schema"))?;
    let (limits, bytes) = (Limits::default(), message.encode_to_vec());
    let mut memory = PrivateMemory::of(limits.memory);
    let at = plan.decode(id, &bytes, &mut memory, limits).map_err(wrong("decoding by a plan"))?;
    let mut encoded = Encoded::new();
    for _ in 0..iterations {
        if is_encoding {
            let done = plan.encode(id, black_box(&memory), at, limits, &mut encoded);
            done.map_err(wrong("encoding by a plan"))?;
            black_box(encoded.as_bytes());
        } else {
            let mut memory = PrivateMemory::of(limits.memory);
            let done = plan.decode(id, black_box(&bytes), &mut memory, limits);
            black_box((done.map_err(wrong("decoding by a plan"))?, &memory));
        }
    }
    Ok(())
}

fn bytes() -> Question {
    Question { payload: vec![7; LARGE], customer: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_and_prost_make_the_same_of_a_message() {
        let schema = Schema::read(reservation::hotel::Service::descriptors()).unwrap();
        let plan = Plan::new(&schema);
        let limits = Limits::default();
        for (name, bytes) in [
            ("reservation.Request", request().encode_to_vec()),
            ("reservation.Response", response().encode_to_vec()),
        ] {
            let id = plan.message(name).unwrap();
            let (mut memory, mut encoded) = (PrivateMemory::of(limits.memory), Encoded::new());
            let at = plan.decode(id, &bytes, &mut memory, limits).unwrap();
            plan.encode(id, &memory, at, limits, &mut encoded).unwrap();
            assert_eq!(encoded.as_bytes(), bytes, "{name}");
        }
    }
}
